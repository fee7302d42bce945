/** The inspector of a router: records its frames, and serves the page that shows them. */
import type { Server as HttpServer } from "node:http";
import type { ConnectionData, Router } from "@halyard/wire";
import { positiveOption } from "@halyard/wire/unstable-devtools";
import {
  type Authorize,
  refusalOf,
  requireAuthorize,
  requireDevelopment,
  requireLoopback,
} from "./access.ts";
import { listen, portOf } from "./listener.ts";
import { HTML } from "./page/html.ts";
import { runPage } from "./page/script.ts";
import { STYLE } from "./page/style.ts";
import { Recorder } from "./recorder.ts";
import { DeclaredFields, redact, show } from "./redact.ts";
import type { InspectorState } from "./state.ts";
import { Tap } from "./tap.ts";

/** The options of `createInspector()`. */
export interface InspectorOptions {
  /** Whether it may be created. Default: with `authorize`, or when `NODE_ENV` is `development` or `test`. */
  readonly enabled?: boolean;
  /**
   * Whether a request may see the inspector. Required for `fetch`, and to listen for other machines. Default: everybody on
   * this machine.
   */
  readonly authorize?: Authorize;
  /** Whether payloads are shown: of all messages, or of those for which the function returns true. Default false. */
  readonly showPayloads?: boolean | ((type: string) => boolean);
  /** How many frames are kept. Default 1,000. */
  readonly maxFrames?: number;
  /** The path under which `fetch` is mounted. Default `/`. */
  readonly basePath?: string;
}

/** The options of `inspector.listen()`. */
export interface ListenOptions {
  /** Default 3001; 0 selects a free port. */
  readonly port?: number;
  /** The address to listen on. Default `127.0.0.1`. */
  readonly host?: string;
}

/** Created by `createInspector()`. */
export interface Inspector {
  /** Serves the page on a port of its own; resolves to its address. */
  listen(options?: ListenOptions): Promise<string>;
  /** Answers a request for the page, in a server of your own. Throws without the option `authorize`. */
  fetch(request: Request): Promise<Response>;
  /** Stops listening. The router keeps its connections. */
  stop(): Promise<void>;
}

const DEFAULT_PORT = 3001;
const DEFAULT_MAX_FRAMES = 1_000;
const MAX_FRAMES = 100_000;
/** Always redacted: its payload is a credential. */
const AUTH_TYPE = "$ws:auth";

const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Creates an inspector for development: a page with the connections, topics, message rates and frames of a router.
 * Create it before the router is served. Throws unless `NODE_ENV` is `development` or `test`, or `enabled` or `authorize` is set.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { serve } from "@halyard/wire/node";
 *
 * const router = createRouter();
 * if (process.env.NODE_ENV === "development") {
 *   const { createInspector } = await import("@halyard/devtools/inspector");
 *   console.log(`Inspector: ${await createInspector(router).listen()}`);
 * }
 * await serve(router, { port: 3000 });
 * ```
 */
export function createInspector<Data extends ConnectionData>(
  router: Router<Data>,
  options: InspectorOptions = {},
): Inspector {
  const { authorize, basePath = "/", enabled } = options;
  requireDevelopment(authorize, enabled);
  const base = checkBasePath(basePath);
  const recorder = new Recorder(checkMaxFrames(options.maxFrames));
  const tap = new Tap(recorder, describer(router, options));
  router.observe(tap);
  let server: Promise<HttpServer> | undefined;

  const answer = async (request: Request, at: string): Promise<Response> => {
    const status = await refusalOf(request, authorize);
    if (status !== undefined) return new Response(null, { status, headers: HEADERS });
    const url = new URL(request.url);
    if (`${url.pathname}/` === at)
      return new Response(null, { status: 308, headers: { ...HEADERS, location: at } });
    const path = url.pathname.startsWith(at) ? url.pathname.slice(at.length) : undefined;
    if (path === "") return respond("text/html", HTML);
    if (path === "page.js") return respond("text/javascript", SCRIPT);
    if (path === "page.css") return respond("text/css", STYLE);
    if (path === "state") return respond("application/json", stateOf(url.searchParams.get("after")));
    return new Response(null, { status: 404, headers: HEADERS });
  };

  const stateOf = (after: string | null): string => {
    const seq = Number(after ?? 0);
    const state: InspectorState = {
      ...recorder.after(Number.isSafeInteger(seq) && seq > 0 ? seq : 0),
      last: recorder.lastSeq,
      connections: tap.connections(),
      topics: tap.topics(),
      types: recorder.types(),
      rates: recorder.rates(),
    };
    return JSON.stringify(state);
  };

  return {
    async fetch(request) {
      requireAuthorize(authorize);
      return answer(request, base);
    },
    async listen({ port = DEFAULT_PORT, host = "127.0.0.1" } = {}) {
      requireLoopback(host, authorize);
      if (server !== undefined) throw new TypeError("The inspector listens already. Call stop() first.");
      server = listen(port, host, (request) => answer(request, "/"));
      const name = host.includes(":") ? `[${host}]` : host;
      try {
        return `http://${name}:${portOf(await server)}/`;
      } catch (error) {
        server = undefined;
        throw error;
      }
    },
    async stop() {
      const stopping = await server;
      server = undefined;
      if (stopping === undefined) return;
      await new Promise<void>((resolve) => {
        stopping.close(() => resolve());
        stopping.closeAllConnections();
      });
    },
  };
}

/** Bundlers that keep the names of functions wrap them in a helper, which the page does not have. */
const SCRIPT = `"use strict";\nconst __name = (value) => value;\n(${runPage})();\n`;

function respond(type: string, body: string): Response {
  return new Response(body, { headers: { ...HEADERS, "content-type": `${type}; charset=utf-8` } });
}

function describer<Data extends ConnectionData>(
  router: Router<Data>,
  { showPayloads = false }: InspectorOptions,
): (type: string, payload: unknown) => string {
  const fields = new DeclaredFields(() => router.declarations());
  const isShown = typeof showPayloads === "function" ? showPayloads : () => showPayloads;
  return (type, payload) =>
    type !== AUTH_TYPE && isShown(type) ? show(payload) : redact(payload, fields.of(type));
}

/** With a slash at its end, so that the page finds its files beside it. */
function checkBasePath(basePath: string): string {
  if (/^\/[\w./-]*$/.test(basePath)) return basePath.endsWith("/") ? basePath : `${basePath}/`;
  throw new TypeError(
    `The option basePath is ${JSON.stringify(basePath)}, but it must be a path such as "/inspector".`,
  );
}

function checkMaxFrames(maxFrames: number | undefined): number {
  const count = positiveOption("maxFrames", maxFrames, DEFAULT_MAX_FRAMES);
  if (Number.isSafeInteger(count) && count <= MAX_FRAMES) return count;
  throw new TypeError(`The option maxFrames is ${count}, but it must be a whole number up to ${MAX_FRAMES}.`);
}
