/** `handle()`: answers requests of the server. */
import { byteLength } from "../protocol/bytes.ts";
import type { Ask } from "../protocol/control.ts";
import type { Envelope, Meta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type {
  AnyMessageSchema,
  PayloadInput,
  PayloadOutput,
  RpcSchema,
  StandardMeta,
} from "../schema/message.ts";
import { type ClientCore, coreOf } from "./core.ts";
import { later } from "./environment.ts";
import { failure, only } from "./failures.ts";
import { read, typeOf } from "./inbound.ts";
import { text } from "./texts.ts";
import type { WsClient } from "./ws-client.ts";

/** Requests that one client handles at the same time; further ones are refused. */
const MAX_RUNNING = 1_000;
/** What an answer has besides its payload and its type, at most. */
const FRAME_BYTES = 256;

/** What a handler of the client knows about a request besides its payload. */
export interface HandleContext {
  /** Aborted when the server cancels the request, its deadline passes, or the connection is lost. */
  readonly signal: AbortSignal;
  /** The meta of the request. */
  readonly meta: Readonly<StandardMeta>;
}

type Handler = (payload: never, context: HandleContext) => unknown;

interface Entry {
  readonly schema: AnyMessageSchema;
  readonly handler: Handler;
}

/** The handlers of each client, by message type. */
const handlersOf = new WeakMap<WsClient, Map<string, Entry>>();

/**
 * Answers a request that the server makes with `ctx.ws.request()`. The handler returns the payload of the response; of an
 * error that it throws, the server gets only the code: that of a `WsError`, otherwise `INTERNAL`. Returns a function that
 * removes the handler. A later handler of the same type replaces an earlier one.
 *
 * @example
 * ```ts
 * import { handle, wsClient } from "@halyard/wire/client";
 * import { rpc, z } from "@halyard/wire/zod";
 *
 * const Confirm = rpc("CONFIRM", { text: z.string() }, "CONFIRMED", { yes: z.boolean() });
 * const client = wsClient({ url: "ws://localhost:3000", autoConnect: true });
 * handle(client, Confirm, async ({ text }) => ({ yes: confirm(text) }));
 * ```
 */
export function handle<S extends RpcSchema & { readonly meta: undefined }>(
  client: WsClient,
  schema: S,
  handler: (
    payload: PayloadOutput<S>,
    context: HandleContext,
  ) => PayloadInput<S["response"]> | Promise<PayloadInput<S["response"]>>,
): () => void {
  const type = typeOf(schema);
  const handlers = handlersOf.get(client) ?? listen(client);
  const entry: Entry = { schema, handler };
  handlers.set(type, entry);
  return () => {
    if (handlers.get(type) === entry) handlers.delete(type);
  };
}

/** Reads the server's requests, once per client. */
function listen(client: WsClient): Map<string, Entry> {
  const core = coreOf(client);
  const handlers = new Map<string, Entry>();
  const running = new Map<string, AbortController>();
  handlersOf.set(client, handlers);
  client.onState((state) => {
    if (state === "open") return;
    for (const controller of running.values()) controller.abort();
    running.clear();
  });
  core.intercepts.add(({ type, meta, payload }) => {
    const { correlationId } = meta;
    if (correlationId === undefined) return false;
    if (type === "$ws:abort") {
      running.get(correlationId)?.abort();
      return running.delete(correlationId);
    }
    const ask = type === "$ws:ask" ? only("object", payload) : undefined;
    const entry = handlers.get(String(ask?.["type"]));
    if (!ask || !entry) return false;
    // The server numbers its requests, so a second one with this id would be the same.
    if (running.has(correlationId)) return true;
    if (running.size >= MAX_RUNNING) {
      core.sendControl("$ws:answer", { code: "RESOURCE_EXHAUSTED" }, { correlationId });
      return true;
    }
    void answer(core, entry, meta, ask as unknown as Ask, running, correlationId);
    return true;
  });
  return handlers;
}

async function answer(
  core: ClientCore,
  { schema, handler }: Entry,
  meta: Meta,
  ask: Ask,
  running: Map<string, AbortController>,
  correlationId: string,
): Promise<void> {
  const controller = new AbortController();
  running.set(correlationId, controller);
  const { timeoutMs } = meta;
  const expire = (): void => {
    controller.abort();
    if (running.get(correlationId) === controller) running.delete(correlationId);
  };
  const cancelTimer = timeoutMs === undefined ? undefined : later(core.environment, expire, timeoutMs);
  const result = await respond(core, schema, handler, { signal: controller.signal, meta }, ask);
  cancelTimer?.();
  // Cancelled, too late, or of an earlier connection.
  if (running.get(correlationId) !== controller) return;
  running.delete(correlationId);
  core.sendControl("$ws:answer", result, { correlationId, timestamp: core.environment.Date.now() });
}

/** The payload of the answer. The text of an error stays here, because it may contain anything. */
async function respond(
  core: ClientCore,
  schema: AnyMessageSchema,
  handler: Handler,
  context: HandleContext,
  ask: Ask,
): Promise<object> {
  const { response } = schema;
  const { unknownKeys } = core.options;
  try {
    const { payload } = read(schema, envelopeOf(ask.type, ask.payload), "INVALID_ARGUMENT", unknownKeys);
    const result: unknown = await handler(payload as never, context);
    if (!response) return { code: "UNIMPLEMENTED" };
    read(response, envelopeOf(response.type, result), "INTERNAL");
    const answer = { type: response.type, payload: result };
    // A larger frame would close the connection.
    const limit = only("number", core.hello()?.["maxPayloadBytes"]);
    if (!limit || byteLength(JSON.stringify(answer)) + FRAME_BYTES <= limit) return answer;
    const tooLarge = failure("RESOURCE_EXHAUSTED", text("tooLarge", response.type, limit));
    core.report(tooLarge, "unknown", ask.type);
    return { code: tooLarge.code };
  } catch (thrown) {
    const error = WsError.wrap(thrown, "INTERNAL");
    // An expected refusal is the application's own; anything else is a defect that the developer should see.
    if (error !== thrown || error.code === "INTERNAL") core.report(error, "unknown", ask.type);
    return { code: error.code };
  }
}

function envelopeOf(type: string, payload: unknown): Envelope {
  return { problem: undefined, type, meta: {}, payload, hasCustom: false };
}
