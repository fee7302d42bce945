/** The fast path on `node:http`, without building a `Request` or `Response`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJson, USUAL_HEADERS } from "../http/host-facts.ts";
import { type Arrival, type FastAnswer, NOT_MODIFIED } from "./arrival.ts";
import type { FastPath, FastRoute } from "./fast-path.ts";
import type { Wrapped } from "./host-path.ts";
import {
  answerFailure,
  createOrdinaryListener,
  type NodeHandler,
  refuseRequest,
} from "./ordinary-listener.ts";
import { createAddressCheck } from "./request-address.ts";

/** What frameworks add to a request: the path it was mounted at, and a parsed body. */
type Mounted = IncomingMessage & { baseUrl?: unknown; body?: unknown };

/** Answers what the fast path can; Better Auth answers the rest. The promise never rejects. */
export function createNodeHandler({ host, ordinary: handler, report }: Wrapped): NodeHandler {
  const isAddressed = createAddressCheck();
  const ordinary = createOrdinaryListener(handler, report);
  return async (request, response) => {
    if (!isAddressed(request)) return refuseRequest(response);
    const fast = host.current;
    if (fast === undefined || request.method !== "POST") return ordinary(request, response);
    const route = fast.routeAt(pathnameOf(request));
    if (route === undefined || !isReadable(route, request)) return ordinary(request, response);
    try {
      await serve(fast, route, request, response, ordinary);
    } catch (error) {
      answerFailure(response);
      report(error);
    }
  };
}

async function serve(
  fast: FastPath,
  route: FastRoute,
  request: IncomingMessage,
  response: ServerResponse,
  ordinary: NodeHandler,
): Promise<void> {
  const arrival = new NodeArrival(request);
  const identified = fast.identify(route, arrival);
  const caller = identified instanceof Promise ? await identified : identified;
  if (caller === undefined) return ordinary(request, response);
  const text = await readText(request);
  // The client has disconnected.
  if (text === undefined) return undefined;
  const answered = fast.answer(route, arrival, caller, text);
  const answer = answered instanceof Promise ? await answered : answered;
  if (answer !== undefined) return send(response, answer);
  // Better Auth reads the body from here.
  if (text !== "") (request as Mounted).body = text;
  return ordinary(request, response);
}

function pathnameOf(request: Mounted): string {
  const { url = "", baseUrl } = request;
  return typeof baseUrl === "string" ? baseUrl + url : url;
}

/** Whether the body is unread JSON with a `content-length`, or empty. */
function isReadable({ maxBytes }: FastRoute, request: Mounted): boolean {
  if (request.body !== undefined || request.readableEnded || !request.readable) return false;
  const announced = request.headers["content-length"];
  if (announced === undefined || !(Number(announced) <= maxBytes)) return false;
  return announced === "0" || isJson(request.headers["content-type"] ?? null);
}

/** The body as text; undefined when it ends early. */
function readText(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve) => {
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    request.on("data", (chunk: Buffer) => {
      if (first === undefined) first = chunk;
      else if (more === undefined) more = [first, chunk];
      else more.push(chunk);
    });
    request.on("end", () =>
      resolve((more === undefined ? first : Buffer.concat(more))?.toString("utf8") ?? ""),
    );
    request.on("error", () => resolve(undefined));
    request.on("close", () => resolve(undefined));
  });
}

function send(response: ServerResponse, { status, body, headers }: FastAnswer): void {
  if (status === NOT_MODIFIED) {
    response.writeHead(status, [...USUAL_HEADERS, ...headers]);
    response.end();
    return;
  }
  const bytes = Buffer.byteLength(body);
  response.writeHead(status, [...USUAL_HEADERS, "content-length", String(bytes), ...headers]);
  // One byte per character means ASCII, which needs no encoding.
  response.end(body, bytes === body.length ? "latin1" : "utf8");
}

class NodeArrival implements Arrival {
  readonly #request: IncomingMessage;
  #headers: Headers | undefined;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get(name: string): string | null {
    const value = this.#request.headers[name];
    if (value === undefined) return null;
    return typeof value === "string" ? value : value.join(", ");
  }

  get headers(): Headers {
    this.#headers ??= headersOf(this.#request);
    return this.#headers;
  }

  get socketAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }
}

function headersOf({ headers }: IncomingMessage): Headers {
  const made = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // Pseudo-headers of HTTP/2.
    if (value === undefined || name.startsWith(":")) continue;
    made.set(name, typeof value === "string" ? value : value.join(", "));
  }
  return made;
}
