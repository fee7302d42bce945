/**
 * The processes whose durable calls are read here: whether each of them lives, by its heartbeats. Who cannot receive
 * heartbeats knows nothing about others, so time counts only while the subscription is confirmed and the broker is there.
 */
import type { PubSub, Subscriber } from "../pubsub/pubsub.ts";
import type { Clock } from "../time/clock.ts";

/** Carries heartbeats: the id of a process. Applications cannot use topics that begin with `$`. */
export const HEARTBEATS = "$d";
/** A process without a heartbeat for this long is dead. With the reads and the write of the end, readers learn it within 5 s. */
const DEAD_AFTER_MS = 3_500;
const CHECK_MS = 250;

/** One reader's view of a process. A process without calls is silent, so that each reader counts from its own beginning. */
export interface Following {
  readonly isDead: boolean;
  stop(): void;
}

class Follower {
  state: "alive" | "suspect" | "dead" = "alive";
  readonly #died: () => void;
  /** Monotonic time of the last heartbeat in ms. */
  #seenAt: number;

  constructor(died: () => void, now: number) {
    this.#died = died;
    this.#seenAt = now;
  }

  saw(now: number): void {
    this.#seenAt = now;
    this.state = "alive";
  }

  /** Dead is who is silent in two checks: after a pause of this process, heartbeats are read between the two. */
  judge(now: number): void {
    if (this.state === "dead" || now - this.#seenAt <= DEAD_AFTER_MS) return;
    this.state = this.state === "alive" ? "suspect" : "dead";
    if (this.state === "dead") this.#died();
  }
}

export class FollowedProcesses {
  readonly #pubsub: PubSub;
  readonly #clock: Clock;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #subscriber: Subscriber = {
    deliver: (_topic, process) => {
      for (const follower of this.#followers.get(process) ?? []) follower.saw(this.#clock.now());
      return 0;
    },
    missed: () => this.#forgive(),
  };
  #isChecking = false;
  /** The current attempt to subscribe; undefined when there is none. */
  #subscription: { isConfirmed: boolean } | undefined;

  constructor(pubsub: PubSub, clock: Clock) {
    this.#pubsub = pubsub;
    this.#clock = clock;
  }

  /** `died` is called when the process is dead. */
  follow(process: string, died: () => void): Following {
    const follower = new Follower(died, this.#clock.now());
    const all = this.#followers.get(process) ?? new Set<Follower>();
    this.#followers.set(process, all.add(follower));
    this.#start();
    return {
      get isDead() {
        return follower.state === "dead";
      },
      stop: () => {
        all.delete(follower);
        if (all.size === 0 && this.#followers.get(process) === all) this.#followers.delete(process);
      },
    };
  }

  #start(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#subscribe();
    this.#clock.setTimeout(() => this.#check(), CHECK_MS);
  }

  #check(): void {
    if (this.#followers.size === 0) {
      this.#isChecking = false;
      this.#unsubscribe();
      return;
    }
    if (this.#subscription === undefined) this.#subscribe();
    if (!this.#subscription?.isConfirmed || this.#pubsub.status?.connected === false) this.#forgive();
    const now = this.#clock.now();
    for (const all of this.#followers.values()) for (const follower of all) follower.judge(now);
    this.#clock.setTimeout(() => this.#check(), CHECK_MS);
  }

  #subscribe(): void {
    const subscription = { isConfirmed: false };
    this.#subscription = subscription;
    (async () => this.#pubsub.subscribe(HEARTBEATS, this.#subscriber))().then(
      () => {
        subscription.isConfirmed = true;
      },
      () => {
        // The next check tries again.
        if (this.#subscription === subscription) this.#subscription = undefined;
      },
    );
  }

  #unsubscribe(): void {
    this.#subscription = undefined;
    (async () => this.#pubsub.unsubscribe(HEARTBEATS, this.#subscriber))().catch(() => undefined);
  }

  #forgive(): void {
    const now = this.#clock.now();
    for (const all of this.#followers.values()) for (const follower of all) follower.saw(now);
  }
}
