/** The hooks of a router: those given as options come first, then those added by method, in order. */
import type { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import type { CloseContext, ErrorContext, EventContext, OpenContext, RpcContext } from "./context.ts";
import type { ConnectionData, Peer } from "./peer.ts";

export type OpenHook<Data extends ConnectionData = ConnectionData> = (ctx: OpenContext<Data>) => unknown;
export type CloseHook<Data extends ConnectionData = ConnectionData> = (ctx: CloseContext<Data>) => unknown;

/** Asked once per connection, with its first message. Anything but true closes the connection with 4401. */
export type AuthHook<Data extends ConnectionData = ConnectionData> = (
  ctx: EventContext<AnyMessageSchema, Data> | RpcContext<RpcSchema, Data>,
) => boolean | Promise<boolean>;

/** Sees every failure. Returning false suppresses the error frame. */
export type ErrorHook<Data extends ConnectionData = ConnectionData> = (
  error: WsError,
  ctx: ErrorContext<Data>,
) => boolean | undefined | void;

/** A peer sent too much. */
export type LimitExceededInfo<Data extends ConnectionData = ConnectionData> =
  | {
      readonly type: "payload";
      readonly clientId: string;
      readonly ws: Peer<Data>;
      /** Bytes. */
      readonly observed: number;
      readonly limit: number;
    }
  | {
      readonly type: "rate";
      readonly clientId: string;
      readonly ws: Peer<Data>;
      /** The cost that was asked for, in tokens. */
      readonly observed: number;
      /** The bucket's capacity. */
      readonly limit: number;
      /** Null when the cost exceeds the capacity: waiting does not help. */
      readonly retryAfterMs: number | null;
    };

export type LimitHook<Data extends ConnectionData = ConnectionData> = (
  info: LimitExceededInfo<Data>,
) => unknown;

export class Hooks {
  readonly open: OpenHook[] = [];
  readonly close: CloseHook[] = [];
  readonly auth: AuthHook[] = [];
  readonly error: ErrorHook[] = [];
  readonly limit: LimitHook[] = [];

  /** Empties the lists in place: running servers hold on to them. */
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
