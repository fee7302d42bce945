/** Who may see the inspector: programs and pages of this machine, or those that the application authorizes. */
import { isLoopbackName } from "@halyard/wire/unstable-devtools";

/** Decides whether a request may see the inspector. */
export type Authorize = (request: Request) => boolean | Promise<boolean>;

const LOOPBACK_ADDRESSES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

/** Throws unless `NODE_ENV` is `development` or `test`, or the application decides who may see the inspector. */
export function requireDevelopment(authorize: Authorize | undefined, enabled: boolean | undefined): void {
  if (enabled ?? (authorize !== undefined || isDeclaredDevelopment())) return;
  throw new TypeError(
    "The inspector is for development, and neither NODE_ENV (development or test) nor the option enabled says so. Start the program with NODE_ENV=development, or set enabled: true, or its option authorize, which decides who may see it.",
  );
}

/** A server whose NODE_ENV was forgotten is often one in production. */
function isDeclaredDevelopment(): boolean {
  const environment = process.env["NODE_ENV"];
  return environment === "development" || environment === "test";
}

/** `fetch` does not know who connects, so it cannot be limited to this machine. */
export function requireAuthorize(authorize: Authorize | undefined): asserts authorize is Authorize {
  if (authorize !== undefined) return;
  throw new TypeError(
    "inspector.fetch() needs the option authorize: createInspector(router, { authorize: (request) => … }). Without it, use inspector.listen(), which only this machine can reach.",
  );
}

export function requireLoopback(host: string, authorize: Authorize | undefined): void {
  if (authorize !== undefined || LOOPBACK_ADDRESSES.has(host)) return;
  throw new TypeError(
    `The inspector would be reachable from other machines at "${host}". Listen on 127.0.0.1, or set its option authorize, which decides who may see it.`,
  );
}

/**
 * Another site could point its own name to this machine. Its pages would have the inspector's origin, but the URL, which
 * is made of the Host header, has that name.
 */
function isLoopbackHost({ url }: Request): boolean {
  return isLoopbackName(new URL(url).hostname);
}

/** Pages of other origins may link to the inspector, and load nothing from it. */
function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none") return true;
  return (
    request.headers.get("sec-fetch-mode") === "navigate" &&
    request.headers.get("sec-fetch-dest") === "document"
  );
}

/** The status of the refusal, or undefined when the request may be served. */
export async function refusalOf(
  request: Request,
  authorize: Authorize | undefined,
): Promise<401 | 403 | 405 | undefined> {
  if (request.method !== "GET") return 405;
  if (!isSameOrigin(request)) return 403;
  if (authorize === undefined) return isLoopbackHost(request) ? undefined : 403;
  return (await authorize(request)) === true ? undefined : 401;
}
