/** The fast path on servers that use `Request` and `Response`. */
import { answerBrokenOff } from "../http/body-limit.ts";
import { isJson, USUAL_HEADERS } from "../http/host-facts.ts";
import { type Arrival, type FastAnswer, NOT_MODIFIED } from "./arrival.ts";
import type { FastPath, FastRoute } from "./fast-path.ts";
import type { HostPath } from "./host-path.ts";

export type FetchHandler = (request: Request, server?: unknown) => Promise<Response>;

/** Answers what the fast path can; `ordinary` answers the rest. */
export function createFetchHandler(
  host: HostPath,
  ordinary: (request: Request) => Promise<Response>,
): FetchHandler {
  return (request, server) => {
    const fast = host.current;
    if (fast === undefined || request.method !== "POST") return ordinary(request);
    const route = fast.routeAt(pathnameOf(request.url));
    if (route === undefined || !isReadable(route, request)) return ordinary(request);
    return serve(fast, route, request, server, ordinary);
  };
}

async function serve(
  fast: FastPath,
  route: FastRoute,
  request: Request,
  server: unknown,
  ordinary: (request: Request) => Promise<Response>,
): Promise<Response> {
  const arrival = new FetchArrival(request, server);
  const caller = await fast.identify(route, arrival);
  if (caller === undefined) return ordinary(request);
  // A client that disconnects mid-body makes only its own request fail.
  const text = request.body === null ? "" : await request.text().catch(() => undefined);
  if (text === undefined) return answerBrokenOff();
  const answer = await fast.answer(route, arrival, caller, text);
  return answer === undefined ? ordinary(again(request, text)) : responseOf(answer);
}

/** Whether the body is JSON with a `content-length`, or empty. */
function isReadable({ maxBytes }: FastRoute, request: Request): boolean {
  if (request.body === null) return true;
  const announced = request.headers.get("content-length");
  if (announced === null || !(Number(announced) <= maxBytes) || request.bodyUsed) return false;
  return isJson(request.headers.get("content-type"));
}

/** The path as written, undecoded and with its query: the fast path matches exact paths only. */
function pathnameOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start === -1 ? "" : url.slice(start);
}

/** The same request with an unread body. */
function again(request: Request, text: string): Request {
  const { method, headers, signal } = request;
  return new Request(request.url, { method, headers, signal, ...(text !== "" && { body: text }) });
}

/** Headers as an object cost half as much as pairs. No name occurs twice. */
function responseOf({ status, body, headers: added }: FastAnswer): Response {
  const headers: Record<string, string> = { ...USUAL };
  for (let at = 0; at < added.length; at += 2) headers[added[at] ?? ""] = added[at + 1] ?? "";
  return new Response(status === NOT_MODIFIED ? null : body, { status, headers });
}

const USUAL = Object.fromEntries(
  USUAL_HEADERS.flatMap((name, at) => (at % 2 === 0 ? [[name, USUAL_HEADERS[at + 1] ?? ""]] : [])),
);

class FetchArrival implements Arrival {
  readonly headers: Headers;
  readonly #request: Request;
  readonly #server: unknown;

  constructor(request: Request, server: unknown) {
    this.headers = request.headers;
    this.#request = request;
    this.#server = server;
  }

  get(name: string): string | null {
    return this.headers.get(name);
  }

  /** Bun's server provides it. */
  get socketAddress(): string | undefined {
    const server = this.#server;
    if (typeof server !== "object" || server === null || !("requestIP" in server)) return undefined;
    if (typeof server.requestIP !== "function") return undefined;
    const found: unknown = server.requestIP(this.#request);
    if (typeof found !== "object" || found === null || !("address" in found)) return undefined;
    return typeof found.address === "string" ? found.address : undefined;
  }
}
