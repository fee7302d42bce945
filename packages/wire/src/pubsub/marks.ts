/**
 * Marks: after a reconnection, a publisher names its last message on each topic, so that subscribers detect a gap although
 * no message follows. The broker may have lost what it accepted before, or was not the one that the subscribers use.
 */
import type { Clock } from "@halyard/base";
import type { PublishedPositions } from "./positions.ts";
import { timeOf } from "./sequence-time.ts";

/** A broker that crashed may have lost messages it accepted up to this long before: their marks come first. */
const UNSAFE_MS = 5_000;
/** During a failover, publishers and subscribers may use different brokers for up to this long. */
const FAILOVER_MS = 60_000;
/** Topics examined and marks sent in one turn of the event loop. */
const EXAMINED_PER_TURN = 10_000;
const UNSAFE_PER_TURN = 250;
const OTHERS_PER_TURN = 50;
export const TURN_EVERY_MS = 5;

export interface Mark {
  readonly topic: string;
  readonly accepted: number;
  readonly agoMs: number;
}

export class Marks {
  readonly #clock: Clock;
  readonly #published: PublishedPositions;
  readonly #send: (mark: Mark) => void;
  #isStopped = false;

  constructor(clock: Clock, published: PublishedPositions, send: (mark: Mark) => void) {
    this.#clock = clock;
    this.#published = published;
    this.#send = send;
  }

  /** The connection that was lost at this monotonic time in ms is restored. `concerns` tells which topics used it. */
  resumed(lostAt: number, concerns: (topic: string) => boolean = () => true): void {
    const unsafeFrom = lostAt - UNSAFE_MS;
    this.#run(unsafeFrom, Number.POSITIVE_INFINITY, UNSAFE_PER_TURN, concerns, () =>
      this.#run(lostAt - FAILOVER_MS, unsafeFrom, OTHERS_PER_TURN, concerns, () => undefined),
    );
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Sends a mark for each topic whose last message was published in this time, a few per turn. */
  #run(
    from: number,
    to: number,
    perTurn: number,
    concerns: (topic: string) => boolean,
    done: () => void,
  ): void {
    const topics = this.#published[Symbol.iterator]();
    const turn = (): void => {
      let sent = 0;
      for (let examined = 0; examined < EXAMINED_PER_TURN && sent < perTurn; examined++) {
        const next = topics.next();
        if (this.#isStopped) return;
        if (next.done) return done();
        const { topic, accepted } = next.value;
        const at = timeOf(accepted);
        if (accepted === 0 || at < from || at >= to || !concerns(topic)) continue;
        this.#send({ topic, accepted, agoMs: Math.max(0, this.#clock.now() - at) });
        sent++;
      }
      this.#clock.setTimeout(turn, TURN_EVERY_MS);
    };
    turn();
  }
}
