/** A server that accepts events as the real one does: once per idempotency key, with a result for each event. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedEvent {
  readonly flagKey: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

interface Batch {
  readonly events: (ReceivedEvent & { idempotencyKey?: string })[];
  readonly idempotencyKey?: string;
}

export interface EventServer {
  readonly origin: string;
  /** The stored events, each once. */
  readonly stored: ReceivedEvent[];
  /** The paths and bodies of the requests. */
  readonly requests: { readonly path: string; readonly body: unknown }[];
  /** Responses wait for this promise. */
  hold: Promise<void> | undefined;
  close(): Promise<void>;
}

const PREFIX = "/api/auth";

export async function startEventServer(): Promise<EventServer> {
  const stored: ReceivedEvent[] = [];
  const requests: EventServer["requests"] = [];
  const answers = new Map<string, object>();
  const state: { hold: Promise<void> | undefined } = { hold: undefined };

  function store(key: string | undefined, event: ReceivedEvent): object | undefined {
    const earlier = key === undefined ? undefined : answers.get(key);
    if (earlier !== undefined) return earlier;
    // The tests use this name for an event that fails validation.
    if (event.event === "invalid") return undefined;
    stored.push(event);
    const answer = { success: true, eventId: `event-${stored.length}` };
    if (key !== undefined) answers.set(key, answer);
    return answer;
  }

  function answer(path: string, body: unknown, key: string | undefined): { status: number; body: object } {
    if (path === "/feature-flags/events") {
      const result = store(key, body as ReceivedEvent);
      return result === undefined
        ? { status: 400, body: { code: "VALIDATION_ERROR", message: "not valid" } }
        : { status: 200, body: result };
    }
    if (path === "/feature-flags/events/batch") {
      const { events, idempotencyKey } = body as Batch;
      const batchId = idempotencyKey ?? `unnamed-${requests.length}`;
      const earlier = answers.get(`batch ${batchId}`);
      if (earlier !== undefined) return { status: 200, body: earlier };
      const accepted = events.filter(
        ({ idempotencyKey, ...event }) => store(idempotencyKey, event) !== undefined,
      );
      const result = { success: accepted.length, failed: events.length - accepted.length, batchId };
      answers.set(`batch ${batchId}`, result);
      return { status: 200, body: result };
    }
    return { status: 200, body: { flags: {}, evaluatedAt: new Date().toISOString(), context: {} } };
  }

  const server = createServer((request, response) => {
    void (async () => {
      const cors = {
        "access-control-allow-origin": request.headers.origin ?? "*",
        "access-control-allow-credentials": "true",
        "access-control-allow-headers": "content-type, idempotency-key",
      };
      if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
      const path = (request.url ?? "").replace(PREFIX, "");
      if (request.method === "GET") {
        return response
          .writeHead(200, { "content-type": "text/html" })
          .end("<!doctype html><title>Page</title>");
      }
      const body = await readJson(request);
      requests.push({ path, body });
      const key = request.headers["idempotency-key"];
      const result = answer(path, body, typeof key === "string" ? key : undefined);
      await state.hold;
      response.writeHead(result.status, { ...cors, "content-type": "application/json" });
      return response.end(JSON.stringify(result.body));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stored,
    requests,
    get hold() {
      return state.hold;
    },
    set hold(promise) {
      state.hold = promise;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? undefined : JSON.parse(text);
}
