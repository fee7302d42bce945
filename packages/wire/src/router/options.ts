/** The options of a router, their defaults, and the resolved form. */
import { positiveOption } from "../protocol/checks.ts";
import { DEFAULT_HEARTBEAT_TIMEOUT_MS } from "../protocol/control.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { PubSub } from "../pubsub/pubsub.ts";
import { standardValidator, type Validator } from "../schema/validate.ts";
import type { AnyData, ConnectionData, Peer } from "./connections/peer.ts";
import {
  type AuthHook,
  type AuthorizeTopic,
  type CloseHook,
  type ErrorHook,
  Hooks,
  type OpenHook,
} from "./hooks.ts";
import type { Metrics } from "./server/metrics.ts";

/** How the server detects dead peers. */
export interface HeartbeatOptions {
  /** How long a connection may be silent before the server pings it, in ms. Default 30,000. */
  readonly intervalMs?: number;
  /** How long it may stay silent after the ping, in ms. Default 5,000. */
  readonly timeoutMs?: number;
  /** Called before a dead connection is closed with 4408. */
  readonly onStaleConnection?: (clientId: string, ws: Peer) => unknown;
}

/** A platform with its own pub/sub. */
export interface Platform {
  /** Carries topics between processes. */
  readonly pubsub?: PubSub;
}

/** The options of `createRouter()`. */
export interface RouterOptions<Data extends ConnectionData = ConnectionData> {
  /** Runs a schema on a value. Default: calls the schema's `~standard.validate`. */
  readonly validator?: Validator;
  /** Its pub/sub is used unless `pubsub` is set. */
  readonly platform?: Platform;
  /** Carries topics between processes, such as `redisPubSub()`. Default: a `MemoryPubSub`, within this process. */
  readonly pubsub?: PubSub;
  /** Hooks that run before those added by method. */
  readonly hooks?: {
    /** Runs when a connection opens. */
    readonly onOpen?: OpenHook<Data>;
    /** Runs when a connection has closed. */
    readonly onClose?: CloseHook<Data>;
    /** Runs once per connection, with its first message. */
    readonly onAuth?: AuthHook<Data>;
    /** Receives every failure. */
    readonly onError?: ErrorHook<Data>;
  };
  /** Pings silent connections and closes dead ones. Default: off. */
  readonly heartbeat?: HeartbeatOptions;
  /** Limits for frames of peers. */
  readonly limits?: {
    /** The largest frame a peer may send, in bytes; a larger one closes its connection with 1009. Default 1,000,000. */
    readonly maxPayloadBytes?: number;
  };
  /**
   * Above this many unsent bytes, published messages to a connection are dropped; above twice as many, the connection is
   * closed with 1013, unless they belong to one large message that was sent when no bytes were waiting. Default 1,000,000.
   */
  readonly socketBufferLimitBytes?: number;
  /** The deadline of a request without its own `timeoutMs`, in ms; above 300,000, also the longest `timeoutMs`. Default 30,000. */
  readonly rpcTimeoutMs?: number;
  /** Drop progress updates to a connection above `socketBufferLimitBytes`. Default true. */
  readonly dropProgressOnBackpressure?: boolean;
  /** Requests in flight per connection; further ones fail with `RESOURCE_EXHAUSTED`. Default 1,000. */
  readonly maxInflightRpcsPerSocket?: number;
  /** A request without progress or response for this long, in ms, fails with `INTERNAL`. Default `rpcTimeoutMs` + 10,000. */
  readonly rpcIdleTimeoutMs?: number;
  /** Send an error frame when a handler throws. Default true. */
  readonly autoSendErrorOnThrow?: boolean;
  /** Include the details of thrown errors in error frames. Default false. */
  readonly exposeErrorDetails?: boolean;
  /** Warn about a request handler that finished without a response; only in development. Default true. */
  readonly warnIncompleteRpc?: boolean;
  /** Whether a connection may subscribe to a topic; false fails with `PERMISSION_DENIED`. Default: every topic is allowed. */
  readonly authorizeTopic?: AuthorizeTopic<Data>;
  /** Further subscriptions fail with `RESOURCE_EXHAUSTED`, and so do joins of as many channels. Default 256. */
  readonly maxTopicsPerConnection?: number;
  /**
   * Joins of channels per second and connection, after a burst of `maxTopicsPerConnection`. Further joins fail with
   * `RESOURCE_EXHAUSTED` and the time at which their turn comes; the client retries then. `Infinity`: no limit. Default 10.
   */
  readonly joinsPerSecond?: number;
  /** A connection above `socketBufferLimitBytes` that reads nothing for this long, in ms, is closed with 1013. Default 30,000. */
  readonly slowConsumerTimeoutMs?: number;
  /** Collects metrics, such as `createMetrics()`. Default: no metrics. */
  readonly metrics?: Metrics;
  /** Unsent bytes of all connections in the process; above it, connections with the most are closed with 1013. Default 256 MiB. */
  readonly processBufferBudgetBytes?: number;
  /** The largest frame a handler may send or publish, in bytes; a larger one throws `RESOURCE_EXHAUSTED`. Default 16 MiB. */
  readonly maxOutboundFrameBytes?: number;
  /**
   * Bytes of a connection's messages that wait or are being handled, those before `onAuth` included; further messages fail
   * with `RESOURCE_EXHAUSTED`. A larger message is accepted while no other is held. Default 1,500,000.
   */
  readonly maxInboundBytesPerConnection?: number;
  /** The same for all connections in the process. Default 256 MiB. */
  readonly processInboundBudgetBytes?: number;
}

/** Every option. A number is the default of an option that must be a number above 0. */
const OPTIONS = {
  validator: true,
  // Platforms have members of their own.
  platform: true,
  pubsub: true,
  hooks: { onOpen: true, onClose: true, onAuth: true, onError: true },
  heartbeat: { intervalMs: 30_000, timeoutMs: DEFAULT_HEARTBEAT_TIMEOUT_MS, onStaleConnection: true },
  limits: { maxPayloadBytes: 1_000_000 },
  socketBufferLimitBytes: 1_000_000,
  rpcTimeoutMs: 30_000,
  dropProgressOnBackpressure: true,
  maxInflightRpcsPerSocket: 1_000,
  rpcIdleTimeoutMs: true,
  autoSendErrorOnThrow: true,
  exposeErrorDetails: true,
  warnIncompleteRpc: true,
  authorizeTopic: true,
  maxTopicsPerConnection: 256,
  joinsPerSecond: 10,
  slowConsumerTimeoutMs: 30_000,
  metrics: true,
  processBufferBudgetBytes: 256 * 1024 * 1024,
  maxOutboundFrameBytes: 16 * 1024 * 1024,
  maxInboundBytesPerConnection: 1_500_000,
  processInboundBudgetBytes: 256 * 1024 * 1024,
} as const satisfies OptionNames<RouterOptions>;

type Numbers<Table> = {
  readonly [Name in keyof Table as Table[Name] extends number ? Name : never]: number;
};

/** The options with their defaults applied. */
export interface ResolvedOptions {
  readonly validator: Validator;
  readonly pubsub: PubSub | undefined;
  readonly heartbeat:
    | (Required<Pick<HeartbeatOptions, "intervalMs" | "timeoutMs">> & HeartbeatOptions)
    | undefined;
  readonly maxPayloadBytes: number;
  readonly socketBufferLimitBytes: number;
  readonly rpcTimeoutMs: number;
  readonly dropProgressOnBackpressure: boolean;
  readonly maxInflightRpcsPerSocket: number;
  readonly rpcIdleTimeoutMs: number;
  readonly autoSendErrorOnThrow: boolean;
  readonly exposeErrorDetails: boolean;
  readonly warnIncompleteRpc: boolean;
  readonly authorizeTopic: AuthorizeTopic<AnyData> | undefined;
  readonly maxTopicsPerConnection: number;
  readonly joinsPerSecond: number;
  readonly slowConsumerTimeoutMs: number;
  readonly processBufferBudgetBytes: number;
  readonly maxOutboundFrameBytes: number;
  readonly maxInboundBytesPerConnection: number;
  readonly processInboundBudgetBytes: number;
  readonly metrics: Metrics | undefined;
}

/** Throws for an unknown option, and for a number that is not above 0. */
export function resolveOptions(options: RouterOptions<AnyData>): ResolvedOptions {
  checkOptionNames<RouterOptions<AnyData>>("createRouter()", options, OPTIONS);
  const { heartbeat } = options;
  const numbers = numbersOf(options, OPTIONS, "");
  return {
    ...numbers,
    ...numbersOf(options.limits ?? {}, OPTIONS.limits, "limits."),
    validator: options.validator ?? standardValidator,
    pubsub: options.pubsub ?? options.platform?.pubsub,
    heartbeat: heartbeat
      ? { ...heartbeat, ...numbersOf(heartbeat, OPTIONS.heartbeat, "heartbeat.") }
      : undefined,
    dropProgressOnBackpressure: options.dropProgressOnBackpressure ?? true,
    rpcIdleTimeoutMs: positiveOption(
      "rpcIdleTimeoutMs",
      options.rpcIdleTimeoutMs,
      numbers.rpcTimeoutMs + 10_000,
    ),
    autoSendErrorOnThrow: options.autoSendErrorOnThrow ?? true,
    exposeErrorDetails: options.exposeErrorDetails ?? false,
    warnIncompleteRpc: (options.warnIncompleteRpc ?? true) && isDevelopment(),
    authorizeTopic: options.authorizeTopic,
    metrics: options.metrics,
  };
}

function numbersOf<Table extends object>(
  options: { readonly [Name in keyof Numbers<Table>]?: number | undefined },
  table: Table,
  path: string,
): Numbers<Table> {
  const numbers: Record<string, number> = {};
  for (const [name, value] of Object.entries(table))
    if (typeof value === "number")
      numbers[name] = positiveOption(
        path + name,
        (options as Record<string, number | undefined>)[name],
        value,
      );
  return numbers as Numbers<Table>;
}

/** Whether `NODE_ENV` is not `production`. Read through globalThis, because not every runtime has a process. */
export function isDevelopment(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.["NODE_ENV"] !== "production";
}

/** The hooks that the options have. */
export function hooksOf<Data extends ConnectionData>({ hooks }: RouterOptions<Data>): Hooks {
  const list = new Hooks();
  if (hooks?.onOpen) list.open.push(hooks.onOpen as OpenHook);
  if (hooks?.onClose) list.close.push(hooks.onClose as CloseHook);
  if (hooks?.onAuth) list.auth.push(hooks.onAuth as AuthHook);
  if (hooks?.onError) list.error.push(hooks.onError as ErrorHook);
  return list;
}
