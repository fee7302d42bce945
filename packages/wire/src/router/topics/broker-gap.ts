/** Sends `$ws:gap` to peers whose published messages may be missing because of a broker outage. */
import type { Clock } from "@halyard/base";
import { CONTROL, type Gap } from "../../protocol/control.ts";
import { encodeShort } from "../../protocol/encode-short.ts";
import { Timeout, type Timers } from "../../time/timers.ts";
import type { Connection } from "../contracts.ts";

/**
 * A gap in all topics is sent to the connections over 1.2 to 1.5 s, so that not all of them reload at the same moment. A
 * step is three ticks of the timer wheel, or four when it is late.
 */
const STEPS = 24;
const STEP_MS = 48;
/** So few connections are no load, together or not. */
const MIN_PER_STEP = 100;

export class BrokerGaps {
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** Connections that have not been sent the gap in all topics yet. */
  readonly #pending = new Set<Connection>();
  readonly #timer = new Timeout(() => this.#step());
  #perStep = 0;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** A gap in one topic, for its members now. */
  topic(members: Iterable<Connection>, topic: string): void {
    const frame = this.#encode({ topic, reason: "bus" });
    for (const connection of members) send(connection, frame);
  }

  /** A gap in all topics, for these connections: the first now, the last within 1.5 s. */
  all(connections: Iterable<Connection>): void {
    for (const connection of connections) if (isConcerned(connection)) this.#pending.add(connection);
    if (this.#pending.size === 0) return;
    this.#perStep = Math.max(this.#perStep, MIN_PER_STEP, Math.ceil(this.#pending.size / STEPS));
    if (this.#timer.slot === -1) this.#step();
  }

  /** Before a message is sent to the members of a topic: sends them what is pending. */
  flush(members: ReadonlySet<Connection>): void {
    if (this.#pending.size === 0) return;
    const frame = this.#encode({ reason: "bus" });
    const [fewer, others] =
      this.#pending.size < members.size ? [this.#pending, members] : [members, this.#pending];
    for (const connection of fewer) {
      if (!others.has(connection)) continue;
      this.#pending.delete(connection);
      send(connection, frame);
    }
  }

  /** The connection is gone. */
  remove(connection: Connection): void {
    if (this.#pending.size > 0) this.#pending.delete(connection);
  }

  #step(): void {
    const frame = this.#encode({ reason: "bus" });
    let count = 0;
    for (const connection of this.#pending) {
      this.#pending.delete(connection);
      send(connection, frame);
      if (++count === this.#perStep) break;
    }
    if (this.#pending.size > 0) this.#timers.add(this.#timer, STEP_MS);
    else this.#perStep = 0;
  }

  #encode(gap: Gap): string {
    return encodeShort(CONTROL.gap, this.#clock.wall(), undefined, gap);
  }
}

function send(connection: Connection, frame: string): void {
  if (isConcerned(connection)) connection.sendFrame(frame);
}

/** A connection without topics missed nothing, and a peer without this protocol would not understand the frame. */
function isConcerned(connection: Connection): boolean {
  const { greets, topics, memberships } = connection;
  if (!greets || (topics?.size ?? 0) > 0) return greets;
  // What is missing in a channel with history is read from the store.
  for (const { hasHistory } of memberships?.values() ?? []) if (!hasHistory) return true;
  return false;
}
