/** Router options, their defaults, and what they are once resolved. */
import type { PubSub } from "../pubsub/pubsub.ts";
import { standardValidator, type Validator } from "../schema/validate.ts";
import type { AnyData } from "./connection.ts";
import type { AuthHook, CloseHook, ErrorHook, OpenHook } from "./hooks.ts";
import type { Metrics } from "./metrics.ts";
import type { ConnectionData, Peer } from "./peer.ts";
import type { AuthorizeTopic } from "./topics.ts";

export interface HeartbeatOptions {
  /** How long a connection may be silent before it is pinged. Default 30,000. */
  readonly intervalMs?: number;
  /** How long it may stay silent after that. Default 5,000. */
  readonly timeoutMs?: number;
  /** Called when a connection is given up, before it is closed with 4408. */
  readonly onStaleConnection?: (clientId: string, ws: Peer) => unknown;
}

/** A platform whose adapter brings a pub/sub of its own. */
export interface Platform {
  readonly pubsub?: PubSub;
}

export interface RouterOptions<Data extends ConnectionData = ConnectionData> {
  /** Replaces the call of a schema's own `~standard.validate`. */
  readonly validator?: Validator;
  /** Its pub/sub is used unless `pubsub` is given. */
  readonly platform?: Platform;
  /** Default: within this process, made on first use. */
  readonly pubsub?: PubSub;
  readonly hooks?: {
    readonly onOpen?: OpenHook<Data>;
    readonly onClose?: CloseHook<Data>;
    readonly onAuth?: AuthHook<Data>;
    readonly onError?: ErrorHook<Data>;
  };
  /** Off unless given: pings silent connections and closes dead ones. */
  readonly heartbeat?: HeartbeatOptions;
  readonly limits?: {
    /** The largest frame a peer may send; a larger one closes its connection with 1009. Default 1,000,000. */
    readonly maxPayloadBytes?: number;
  };
  /** Above this many unsent bytes, publishes to a connection are shed; at twice as many it is closed with 1013. Default 1,000,000. */
  readonly socketBufferLimitBytes?: number;
  /** The deadline of a request whose caller names none. Default 30,000. */
  readonly rpcTimeoutMs?: number;
  /** Drop progress to a connection above `socketBufferLimitBytes`. Default true. */
  readonly dropProgressOnBackpressure?: boolean;
  /** More requests in flight are answered with `RESOURCE_EXHAUSTED`. Default 1,000. */
  readonly maxInflightRpcsPerSocket?: number;
  /** A request without progress or answer for this long ends with `INTERNAL`. Default `rpcTimeoutMs` + 10,000. */
  readonly rpcIdleTimeoutMs?: number;
  /** Answer a handler that throws with an error frame. Default true. */
  readonly autoSendErrorOnThrow?: boolean;
  /** Send the details of thrown errors. Default false. */
  readonly exposeErrorDetails?: boolean;
  /** Warn about a request handler that settled without an answer; in development only. Default true. */
  readonly warnIncompleteRpc?: boolean;
  /** Whether a connection may subscribe to a topic; false gives `PERMISSION_DENIED`. Default: any topic. */
  readonly authorizeTopic?: AuthorizeTopic<Data>;
  /** Default 256. */
  readonly maxTopicsPerConnection?: number;
  /** A connection above `socketBufferLimitBytes` for this long is closed with 1013. Default 30,000. */
  readonly slowConsumerTimeoutMs?: number;
  /** Keeps figures of what the servers do; `createMetrics()` makes one. Default: none are kept. */
  readonly metrics?: Metrics;
  /** Unsent bytes of all connections of the process; beyond it the largest are closed with 1013. Default 256 MiB. */
  readonly processBufferBudgetBytes?: number;
}

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
  readonly slowConsumerTimeoutMs: number;
  readonly processBufferBudgetBytes: number;
  readonly metrics: Metrics | undefined;
}

export const DEFAULT_HEARTBEAT_TIMEOUT_MS = 5_000;

export function resolveOptions(options: RouterOptions<AnyData>): ResolvedOptions {
  const rpcTimeoutMs = positive("rpcTimeoutMs", options.rpcTimeoutMs, 30_000);
  return {
    validator: options.validator ?? standardValidator,
    pubsub: options.pubsub ?? options.platform?.pubsub,
    heartbeat: options.heartbeat && {
      ...options.heartbeat,
      intervalMs: positive("heartbeat.intervalMs", options.heartbeat.intervalMs, 30_000),
      timeoutMs: positive("heartbeat.timeoutMs", options.heartbeat.timeoutMs, DEFAULT_HEARTBEAT_TIMEOUT_MS),
    },
    maxPayloadBytes: positive("limits.maxPayloadBytes", options.limits?.maxPayloadBytes, 1_000_000),
    socketBufferLimitBytes: positive("socketBufferLimitBytes", options.socketBufferLimitBytes, 1_000_000),
    rpcTimeoutMs,
    dropProgressOnBackpressure: options.dropProgressOnBackpressure ?? true,
    maxInflightRpcsPerSocket: positive("maxInflightRpcsPerSocket", options.maxInflightRpcsPerSocket, 1_000),
    rpcIdleTimeoutMs: positive("rpcIdleTimeoutMs", options.rpcIdleTimeoutMs, rpcTimeoutMs + 10_000),
    autoSendErrorOnThrow: options.autoSendErrorOnThrow ?? true,
    exposeErrorDetails: options.exposeErrorDetails ?? false,
    warnIncompleteRpc: (options.warnIncompleteRpc ?? true) && isDevelopment(),
    authorizeTopic: options.authorizeTopic,
    maxTopicsPerConnection: positive("maxTopicsPerConnection", options.maxTopicsPerConnection, 256),
    slowConsumerTimeoutMs: positive("slowConsumerTimeoutMs", options.slowConsumerTimeoutMs, 30_000),
    processBufferBudgetBytes: positive(
      "processBufferBudgetBytes",
      options.processBufferBudgetBytes,
      256 * 1024 * 1024,
    ),
    metrics: options.metrics,
  };
}

/** Anything but `NODE_ENV=production`; read through globalThis because not every runtime has a process. */
export function isDevelopment(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.["NODE_ENV"] !== "production";
}

function positive(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value > 0) return value;
  throw new TypeError(
    `The router option ${name} is ${String(value)}; it takes a number above 0. Leave it out for ${fallback}.`,
  );
}
