/** What a router's servers tell about themselves, for whoever keeps figures. */
import type { PubSub } from "../pubsub/pubsub.ts";
import type { Connection } from "./connection.ts";
import type { ServerCounters } from "./counters.ts";

/** A running server, as it is at the moment it is looked at. */
export interface ServerFigures {
  readonly connections: number;
  /** Topics with a subscriber here. */
  readonly topics: number;
  /** Bytes that peers have not taken yet. */
  readonly bufferedBytes: number;
  /** Since the start. */
  readonly counters: Readonly<ServerCounters>;
}

/** The pub/sub of a router, as far as figures go. */
export type ObservedBus = Pick<PubSub, "status">;

/** Given as the router option `metrics`. Nothing of it may throw. */
export interface Metrics {
  /** A server has begun, on the pub/sub that the router was given, if any. Gives back a function for its end. */
  observe(server: ServerFigures, pubsub: ObservedBus | undefined): () => void;
  /** A request has ended: `ok`, the code of its error, `SUPPRESSED` without a frame, `DISCONNECTED` with its connection. */
  answered(type: string, durationMs: number, outcome: string): void;
  /** A connection has ended. */
  closed(code: number): void;
}

export function figuresOf(
  connections: ReadonlySet<Connection>,
  topics: ReadonlyMap<string, unknown>,
  counters: Readonly<ServerCounters>,
): ServerFigures {
  return {
    counters,
    get connections() {
      return connections.size;
    },
    get topics() {
      return topics.size;
    },
    get bufferedBytes() {
      let bytes = 0;
      for (const connection of connections) bytes += connection.bufferedBytes;
      return bytes;
    },
  };
}
