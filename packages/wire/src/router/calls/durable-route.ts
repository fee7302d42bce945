/** Serves the requests of a durable type: each starts a call or attaches to one, and then reads the call's log. */
import { uuidv7 } from "@halyard/base";
import { type CallKey, isAttach } from "../../protocol/call-terms.ts";
import { WsError } from "../../protocol/error.ts";
import type { HistoryPosition } from "../../pubsub/history.ts";
import { requireHistory } from "../../pubsub/history-rules.ts";
import type { PubSub } from "../../pubsub/pubsub.ts";
import type { DurableConfig, RpcSchema } from "../../schema/message.ts";
import type { AnyData, ConnectionData } from "../connections/peer.ts";
import type { ConnectionContext } from "../context.ts";
import { CallLog, isCallId, unreachable } from "./call-log.ts";
import { readCall } from "./call-reader.ts";
import { type CallRegistry, registryOf } from "./call-registry.ts";
import { CallRun } from "./call-run.ts";
import type { StreamCall } from "./stream-call.ts";

/** Options of `router.rpc()` for a durable request. */
export interface DurableRouteOptions<Data extends ConnectionData = ConnectionData> {
  /** Who may read and cancel a call: every connection for which it returns the same text, such as the user's id. */
  readonly owner: (ctx: ConnectionContext<Data>) => string;
  /** Calls of one owner that run in this process; further ones fail with `RESOURCE_EXHAUSTED`. Default 100. */
  readonly maxRunningPerOwner?: number;
}

interface DurableRoute {
  readonly schema: RpcSchema;
  readonly durable: DurableConfig;
  readonly options: DurableRouteOptions<AnyData>;
  readonly handler: (ctx: never) => unknown;
}

const DEFAULT_MAX_RUNNING = 100;

/** The handler of a durable request, from the arguments of `rpc()`: options with the owner of its calls, and a handler. */
export function durableHandler(
  schema: RpcSchema,
  durable: DurableConfig,
  [options, handler]: readonly unknown[],
  pubsub: PubSub | undefined,
): (request: StreamCall) => Promise<void> {
  if (
    typeof (options as Partial<DurableRouteOptions> | undefined)?.owner !== "function" ||
    typeof handler !== "function"
  ) {
    throw new TypeError(
      `${schema.type} is durable, so rpc() needs the owner of its calls: router.rpc(schema, { owner: (ctx) => ctx.data.userId }, handler).`,
    );
  }
  if (pubsub !== undefined) requireHistory(pubsub, `The durable request ${schema.type}`);
  const route: DurableRoute = {
    schema,
    durable,
    options: options as DurableRouteOptions<AnyData>,
    handler: handler as DurableRoute["handler"],
  };
  return (request) => serveDurable(route, request);
}

async function serveDurable(route: DurableRoute, request: StreamCall): Promise<void> {
  const { type } = route.schema;
  const owner = ownerOf(route, request);
  const checkOwner = (): void => {
    try {
      if (ownerOf(route, request) === owner) return;
    } catch (error) {
      // No middleware runs before it, so `owner` may throw for data that it would not get at the start.
      throw WsError.isWsError(error) ? error : unknownCall(error);
    }
    throw unknownCall();
  };
  const { pubsub } = request.ws.server;
  const registry = registryOf(pubsub);
  const history = requireHistory(pubsub, `The durable request ${type}`);
  const key: CallKey = request.terms?.key ?? { id: uuidv7() };
  const log = new CallLog(history, key.id, route.durable.keepMs, pubsub.spansProcesses === true);
  if (!isAttach(key)) {
    const starting = start(route, request, registry, log, key.id, owner);
    registry.followStart(key.id, starting);
    const { run, position } = await starting;
    // Without an id of its own, no other request can cancel the call.
    if (request.terms?.key === undefined)
      request.onCancel(() => request.endedWith?.code === "CANCELLED" && run.abort());
    const target = { id: key.id, process: registry.process, position, after: 0, checkOwner };
    return readCall(request, registry, log, target);
  }
  // A client may cancel a call at once, before its header is written.
  await registry.started(key.id);
  const header = isCallId(key.id) ? await log.header() : undefined;
  if (header === undefined || header.owner !== owner || header.type !== type) throw unknownCall();
  if (key.cancel) await registry.cancel(key.id, log);
  const after = key.cancel ? undefined : (key.after ?? 0);
  return readCall(request, registry, log, { ...header, id: key.id, after, checkOwner });
}

function ownerOf({ schema, options }: DurableRoute, request: StreamCall): string {
  const owner: unknown = options.owner(request);
  if (typeof owner === "string" && owner !== "") return owner;
  throw new WsError(
    "UNAUTHENTICATED",
    `This connection has no owner for calls of ${schema.type}. Sign in first.`,
  );
}

function unknownCall(cause?: unknown): WsError {
  return new WsError("NOT_FOUND", "There is no such call, or it is not kept any more.", undefined, { cause });
}

async function start(
  { schema, options, handler }: DurableRoute,
  request: StreamCall,
  registry: CallRegistry,
  log: CallLog,
  id: string,
  owner: string,
): Promise<{ readonly run: CallRun; readonly position: HistoryPosition }> {
  if (!isCallId(id))
    throw new WsError(
      "INVALID_ARGUMENT",
      "The id of the call is not 1 to 128 letters, digits, dots and dashes.",
    );
  const release = registry.reserve(id, owner, options.maxRunningPerOwner ?? DEFAULT_MAX_RUNNING);
  // The owner may cancel the call from another process.
  const unwatch = await registry
    .watch(log.topic, id, () => undefined)
    .catch((error: unknown) => {
      release();
      throw unreachable(error);
    });
  const cleanUp = (): void => {
    unwatch();
    release();
  };
  try {
    const header = { owner, type: schema.type, process: registry.process, start: uuidv7() };
    const position = await log.create(header);
    const run: CallRun = new CallRun(request.ws, schema, request.meta, request.payload, {
      id,
      log,
      silenceMs: request.silenceMs,
      deadlineMs: request.deadlineMs,
      full: () => registry.sendFull(log.topic),
      ended: () => {
        registry.remove(run, log.topic);
        cleanUp();
      },
    });
    registry.add(run);
    void run.start(handler);
    return { run, position };
  } catch (error) {
    cleanUp();
    throw unreachable(error);
  }
}
