/** The interface between a router's servers and the metrics of the application. */
import type { PubSub } from "../../pubsub/pubsub.ts";
import type { Peer } from "../connections/peer.ts";
import type { ServerCounters } from "./counters.ts";

/** The current numbers of a running server. */
export interface ServerFigures {
  /** How many connections are open. */
  readonly connections: number;
  /** Topics with a subscriber on this server. */
  readonly topics: number;
  /** Bytes accepted for peers that are not sent yet. */
  readonly bufferedBytes: number;
  /** Bytes of messages from peers that wait or are being handled. */
  readonly inboundBytes: number;
  /** Counts since the start. */
  readonly counters: Readonly<ServerCounters>;
}

/** The part of a pub/sub that metrics read. */
export type ObservedBus = Pick<PubSub, "status">;

/** The router option `metrics`. Its methods must not throw. */
export interface Metrics {
  /** A server has started, with the pub/sub of the router's options, if any. Returns a function to call when it stops. */
  observe(server: ServerFigures, pubsub: ObservedBus | undefined): () => void;
  /** A request has ended with `ok`, an error code, `SUPPRESSED` (no error frame) or `DISCONNECTED` (connection lost). */
  answered(type: string, durationMs: number, outcome: string): void;
  /** A connection was closed with this code. */
  closed(code: number): void;
}

export function figuresOf(
  connections: ReadonlySet<Pick<Peer, "bufferedBytes">>,
  topics: ReadonlyMap<string, unknown>,
  counters: Readonly<ServerCounters>,
  inbound: { readonly bytes: number },
): ServerFigures {
  return {
    counters,
    get connections() {
      return connections.size;
    },
    get topics() {
      return topics.size;
    },
    get inboundBytes() {
      return inbound.bytes;
    },
    get bufferedBytes() {
      let bytes = 0;
      for (const connection of connections) bytes += connection.bufferedBytes;
      return bytes;
    },
  };
}
