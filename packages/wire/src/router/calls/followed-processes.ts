/**
 * Whether the durable calls that are read here still run in another process. First the process has to answer that it runs
 * the call; then its heartbeats count. A process without broker messages knows nothing about others, so time counts only
 * while the subscription is confirmed and the broker is there.
 */
import type { Clock } from "@halyard/base";
import type { PubSub, Subscriber } from "../../pubsub/pubsub.ts";

/** Carries heartbeats: the id of a process. Applications cannot use topics that begin with `$`. */
export const HEARTBEATS = "$d";
/** A process without a heartbeat for this long is dead. With the reads and the write of the end, readers learn it within 5 s. */
const DEAD_AFTER_MS = 3_500;
/** A process that does not answer for this long does not run the call. Shorter: the reader may have lost time by reconnecting. */
const UNANSWERED_MS = 2_000;
const ASK_EVERY_MS = 500;
const CHECK_MS = 250;

/** One reader's view of a call in another process. */
export class Follower {
  readonly stop: () => void;
  readonly #clock: Clock;
  readonly #ask: () => void;
  readonly #died: () => void;
  #state: "alive" | "suspect" | "dead" = "alive";
  #isConfirmed = false;
  #limitMs = UNANSWERED_MS;
  /** Monotonic time in ms of the last heartbeat; without an answer, of the beginning. */
  #seenAt: number;
  #askedAt: number = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, ask: () => void, died: () => void, stop: () => void) {
    this.#clock = clock;
    this.#ask = ask;
    this.#died = died;
    this.stop = stop;
    this.#seenAt = clock.now();
  }

  /** Whether the process does not run the call any more. */
  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** The process has shown that it runs the call. */
  confirm(): void {
    this.#isConfirmed = true;
    this.#limitMs = DEAD_AFTER_MS;
    this.restart();
  }

  /**
   * Messages of the broker may be missing: the process is asked again. After a failure of the broker, it may be connected
   * later than this one.
   */
  doubt(): void {
    this.#isConfirmed = false;
    this.#limitMs = DEAD_AFTER_MS;
    this.#askedAt = Number.NEGATIVE_INFINITY;
    this.restart();
  }

  /** A heartbeat: the process lives, but only an answer tells that it runs the call. */
  saw(): void {
    if (this.#isConfirmed) this.restart();
  }

  restart(): void {
    this.#seenAt = this.#clock.now();
    this.#state = "alive";
  }

  askAgain(): void {
    const now = this.#clock.now();
    if (this.#isConfirmed || now - this.#askedAt < ASK_EVERY_MS) return;
    this.#askedAt = now;
    this.#ask();
  }

  /** Dead is who is silent in two checks: after a pause of this process, messages are read between the two. */
  judge(): void {
    if (this.isDead || this.#clock.now() - this.#seenAt <= this.#limitMs) return;
    this.#state = this.#state === "alive" ? "suspect" : "dead";
    if (this.isDead) this.#died();
  }
}

export class FollowedProcesses {
  readonly #pubsub: PubSub;
  readonly #clock: Clock;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #subscriber: Subscriber = {
    deliver: (_topic, process) => {
      for (const follower of this.#followers.get(process) ?? []) follower.saw();
      return 0;
    },
    missed: () => this.#each((follower) => follower.doubt()),
  };
  #isChecking = false;
  /** The current attempt to subscribe; undefined when there is none. */
  #subscription: { isConfirmed: boolean } | undefined;

  constructor(pubsub: PubSub, clock: Clock) {
    this.#pubsub = pubsub;
    this.#clock = clock;
  }

  /** `ask` asks whether the process runs the call; `died` is called when it does not. */
  follow(process: string, ask: () => void, died: () => void): Follower {
    const all = this.#followers.get(process) ?? new Set<Follower>();
    const follower = new Follower(this.#clock, ask, died, () => {
      all.delete(follower);
      if (all.size === 0 && this.#followers.get(process) === all) this.#followers.delete(process);
    });
    this.#followers.set(process, all.add(follower));
    this.#start();
    follower.askAgain();
    return follower;
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
    const isConnected = this.#pubsub.status?.connected !== false;
    this.#each((follower) => {
      if (!isConnected) return follower.doubt();
      if (!this.#subscription?.isConfirmed) follower.restart();
      follower.askAgain();
      follower.judge();
    });
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

  #each(act: (follower: Follower) => void): void {
    for (const all of [...this.#followers.values()]) for (const follower of [...all]) act(follower);
  }
}
