/** How many requests Better Auth itself had to answer, told on a path of its own. */
type Handler = (request: Request) => Promise<Response>;

/** Such a request never gets to the fast path, so counting costs it nothing. */
export const COUNT_PATH = "/api/auth/bench-count";

export function countRequests(handler: Handler): Handler {
  let count = 0;
  return (request) => {
    if (request.url.endsWith(COUNT_PATH)) return Promise.resolve(Response.json({ count }));
    count += 1;
    return handler(request);
  };
}
