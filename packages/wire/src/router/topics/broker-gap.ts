/** Sends `$ws:gap` to peers whose published messages may be missing because of a broker outage. */
import type { Clock } from "@halyard/base";
import { CONTROL, type Gap } from "../../protocol/control.ts";
import { encodeShort } from "../../protocol/encode-short.ts";
import { GapAnnouncements } from "../../pubsub/gap-announcements.ts";
import type { Connection } from "../contracts.ts";

/** So few connections are no load, together or not. */
const MIN_PER_STEP = 100;

export class BrokerGaps {
  readonly #clock: Clock;
  /** Connections that have not been sent the gap in all topics yet. */
  readonly #pending: GapAnnouncements<Connection>;

  constructor(clock: Clock) {
    const announce = (connection: Connection): void => this.#send([connection], { reason: "bus" });
    this.#clock = clock;
    this.#pending = new GapAnnouncements(clock, announce, MIN_PER_STEP);
  }

  /** A gap in one topic, for its members now. */
  topic(members: Iterable<Connection>, topic: string): void {
    this.#send(members, { topic, reason: "bus" });
  }

  /** A gap in all topics, for these connections: the first now, the last within 1.5 s. */
  all(connections: Iterable<Connection>): void {
    this.#pending.add([...connections].filter(isConcerned));
  }

  /** Before a message is sent to the members of a topic: sends them what is pending. */
  flush(members: Iterable<Connection>): void {
    if (this.#pending.isEmpty) return;
    for (const connection of members) this.#pending.flush(connection);
  }

  /** The connection is gone. */
  remove(connection: Connection): void {
    this.#pending.remove(connection);
  }

  #send(connections: Iterable<Connection>, gap: Gap): void {
    const frame = encodeShort(CONTROL.gap, this.#clock.wall(), undefined, gap);
    for (const connection of connections) if (isConcerned(connection)) connection.sendFrame(frame);
  }
}

/** A connection without topics missed nothing, and a peer without this protocol would not understand the frame. */
function isConcerned(connection: Connection): boolean {
  const { greets, topics, memberships } = connection;
  if (!greets || (topics?.size ?? 0) > 0) return greets;
  // What is missing in a channel with history is read from the store.
  for (const { hasHistory } of memberships?.values() ?? []) if (!hasHistory) return true;
  return false;
}
