/** Counts the requests that Better Auth had to answer, and reports them on a separate path. */
type Handler = (request: Request) => Promise<Response>;

/** Such a request never reaches the fast path, so counting does not slow it down. */
export const COUNT_PATH = "/api/auth/bench-count";

export function countRequests(handler: Handler): Handler {
  let count = 0;
  return (request) => {
    if (request.url.endsWith(COUNT_PATH)) return Promise.resolve(Response.json({ count }));
    count += 1;
    return handler(request);
  };
}
