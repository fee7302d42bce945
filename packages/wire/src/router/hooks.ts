/** The hooks of a router. Hooks from the options run first, then those added by method, in order. */
import { DeclaredFailure } from "../protocol/declared-failure.ts";
import { WsError } from "../protocol/error.ts";
import { summarizeIssues } from "../schema/issues.ts";
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import type { AnyData, ConnectionData, Peer } from "./connections/peer.ts";
import type {
  CloseContext,
  ConnectionContext,
  ErrorContext,
  EventContext,
  OpenContext,
  RpcContext,
} from "./context.ts";
import { guard } from "./pending.ts";

/** Runs when a connection opens. */
export type OpenHook<Data extends ConnectionData = ConnectionData> = (ctx: OpenContext<Data>) => unknown;
/** Runs when a connection has closed. */
export type CloseHook<Data extends ConnectionData = ConnectionData> = (ctx: CloseContext<Data>) => unknown;

/** Runs once per connection, with its first message. Any result but true closes the connection with 4401. */
export type AuthHook<Data extends ConnectionData = ConnectionData> = (
  ctx: EventContext<AnyMessageSchema, Data> | RpcContext<RpcSchema, Data>,
) => boolean | Promise<boolean>;

/** Whether the connection may subscribe to the topic. */
export type AuthorizeTopic<Data extends ConnectionData = ConnectionData> = (
  ctx: ConnectionContext<Data>,
  topic: string,
) => boolean | Promise<boolean>;

/** Receives every failure. Returning false suppresses the error frame. */
export type ErrorHook<Data extends ConnectionData = ConnectionData> = (
  error: WsError,
  ctx: ErrorContext<Data>,
) => boolean | undefined | void;

/** A peer exceeded the size limit of a frame, or a rate limit. */
export type LimitExceededInfo<Data extends ConnectionData = ConnectionData> =
  | {
      /** Which limit was exceeded. */
      readonly type: "payload";
      /** The id of the connection. */
      readonly clientId: string;
      /** The connection. */
      readonly ws: Peer<Data>;
      /** The size of the frame in bytes. */
      readonly observed: number;
      /** `limits.maxPayloadBytes`. */
      readonly limit: number;
    }
  | {
      /** Which limit was exceeded. */
      readonly type: "rate";
      /** The id of the connection. */
      readonly clientId: string;
      /** The connection. */
      readonly ws: Peer<Data>;
      /** The cost of the message, in tokens. */
      readonly observed: number;
      /** The bucket's capacity. */
      readonly limit: number;
      /** Null when the cost exceeds the capacity, so that a retry cannot succeed. */
      readonly retryAfterMs: number | null;
    };

/** Runs when a peer exceeds a limit. */
export type LimitHook<Data extends ConnectionData = ConnectionData> = (
  info: LimitExceededInfo<Data>,
) => unknown;

export class Hooks {
  readonly open: OpenHook[] = [];
  readonly close: CloseHook[] = [];
  readonly auth: AuthHook[] = [];
  readonly error: ErrorHook[] = [];
  readonly limit: LimitHook[] = [];

  /** Changes the lists in place, because running servers use them. */
  replace(other: Hooks): void {
    for (const list of [this.open, this.close, this.auth, this.error, this.limit]) list.length = 0;
    this.append(other);
  }

  append(other: Hooks): void {
    this.open.push(...other.open);
    this.close.push(...other.close);
    this.auth.push(...other.auth);
    this.error.push(...other.error);
    this.limit.push(...other.limit);
  }
}

/** Passes a failure to the `onError` hooks; true when one of them suppresses the error frame. */
export function runErrorHooks({ error: hooks }: Hooks, error: WsError, ctx: ErrorContext<AnyData>): boolean {
  // Without hooks, a fault of the server would go unnoticed. Faults of peers are not logged: a peer could fill the log.
  const isFault =
    !(error instanceof DeclaredFailure) && (error.cause !== undefined || error.code === "INTERNAL");
  if (hooks.length === 0 && isFault) logError(error, ctx.type);
  let suppressed = false;
  for (const hook of hooks) {
    const run = (): unknown => {
      const verdict: unknown = hook(error, ctx as never);
      if (verdict === false) suppressed = true;
      return verdict;
    };
    guard(run, (failure) => logError(failure));
  }
  return suppressed;
}

/** The last resort for errors that no hook receives. `type` is the message concerned. */
export function logError(thrown: unknown, type?: string): void {
  const error = WsError.wrap(thrown, "INTERNAL");
  if (type === undefined) console.error("[halyard]", error);
  else console.error(`[halyard] ${JSON.stringify(type)} failed${issuesIn(error)}:`, error);
}

/** Consoles print nested details as `[Object]`, so the fields concerned are named in the text. */
function issuesIn(error: WsError): string {
  const summary = summarizeIssues(error);
  return summary === undefined ? "" : ` (${summary})`;
}
