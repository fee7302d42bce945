/** What an adapter tells the server it makes, and each connection it brings. */
import type { WsError } from "../protocol/error.ts";
import type { Clock } from "./clock.ts";
import type { AnyData } from "./connection.ts";
import type { NativePublish } from "./native-topics.ts";
import type { Peer, ServerContext, SharedWriter } from "./peer.ts";
import type { Timers } from "./timers.ts";

/** What an adapter brings besides sockets. */
export interface ServerOptions {
  readonly clock?: Clock;
  /** Default: a wheel on the clock. */
  readonly timers?: Timers;
  /** False where the platform finds dead peers itself; clients are told the router's heartbeat all the same. */
  readonly heartbeat?: false;
  /** Topics are this server's own, unless the router was given a pub/sub. */
  readonly isolated?: boolean;
  readonly context?: ServerContext;
  /** Publishes to every socket subscribed to the topic in the platform's engine. */
  readonly nativePublish?: NativePublish;
  readonly sharedWriter?: SharedWriter;
  readonly onOpen?: (ws: Peer) => unknown;
  readonly onClose?: (ws: Peer, code: number, reason: string) => unknown;
  readonly onBroadcast?: (message: BroadcastMessage, topic: string) => unknown;
  /** Gets errors outside any message; the router's `onError` gets all others. */
  readonly onError?: (error: WsError, ctx: { readonly clientId?: string }) => unknown;
  /** Checks a new token of an open connection; gives new data, or undefined to refuse. */
  readonly refresh?: (token: string, data: AnyData) => unknown;
}

export interface BroadcastMessage {
  readonly type: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

export interface AcceptOptions {
  /** Whether the peer offered this protocol, and so is greeted. Default true. */
  readonly greets?: boolean;
  /** The connection is taken up again with these topics: it is not greeted, and `onOpen` does not run. */
  readonly resumedTopics?: readonly string[];
  /** Of one taken up again: whether `onAuth` had admitted it. Default true. */
  readonly admitted?: boolean;
  /** Of one taken up again: how the server was closing it. */
  readonly closing?: { readonly code: number; readonly reason: string };
  /** Called with the new connection before any hook. */
  readonly upgraded?: (ws: Peer) => unknown;
}
