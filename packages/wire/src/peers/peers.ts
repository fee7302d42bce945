/** The processes that share a pub/sub: carries what they tell each other, and lets time pass in `PeerState`. */
import { type Clock, ignore, pause, RETRY_MS, systemClock, uuidv7, within } from "@halyard/base";
import type { PublishResult, PubSub, Subscriber } from "../pubsub/pubsub.ts";
import { decodePeer, encodePeer } from "./peer-message.ts";
import { type PeerOutput, PeerState, type Sign } from "./peer-state.ts";

/** Reserved for routers: applications cannot use the empty topic. */
const ALL = "";
const TICK_MS = 100;
const GOODBYE_TIMEOUT_MS = 500;

/** What reads of other processes: each method is called when it happens. */
export interface PeerReader extends Partial<Omit<PeerOutput, "say">> {
  /** Messages of other processes to this one may be missing. */
  missed?(): void;
  /** A message that another reader sent with `tell`. */
  received?(text: string): void;
  /** Called several times a second while this reader needs to know who lives. */
  tick?(now: number): void;
  /** What this process tells of itself with each sign of life. */
  note?(): unknown;
}

export class Peers implements Subscriber, PeerOutput {
  /** Identifies this process to the others. */
  readonly id: string = uuidv7();
  readonly state: PeerState;
  /** Whether the others may be in other processes. */
  readonly isRemote: boolean;
  readonly clock: Clock;
  readonly #pubsub: PubSub;
  readonly #readers = new Set<PeerReader>();
  /** Readers that need to know who lives. */
  readonly #watching = new Set<PeerReader>();
  /** The topics in use, and whether the pub/sub has confirmed them. */
  readonly #topics = new Map<string, { isActive: boolean }>();
  #isLive = false;
  /** How often this process had to ask what it has missed. */
  #hellos = 0;
  #isGreeting = false;
  #timer: unknown;

  constructor(pubsub: PubSub, clock: Clock = systemClock) {
    this.isRemote = pubsub.spansProcesses === true;
    this.clock = clock;
    this.#pubsub = pubsub;
    this.state = new PeerState(this.id, this, this.isRemote);
  }

  // --- readers ---

  /** The reader gets messages, and learns when some may be missing. With `isWatching`, also who lives. */
  join(reader: PeerReader, isWatching: boolean): void {
    this.#readers.add(reader);
    if (isWatching) this.#watching.add(reader);
    this.#reconcile();
  }

  /** The reader does not need to know who lives any more. */
  unwatch(reader: PeerReader): void {
    this.#watching.delete(reader);
    this.#reconcile();
  }

  leave(reader: PeerReader): void {
    this.#readers.delete(reader);
    this.unwatch(reader);
  }

  /** Sends a message to all processes, or to one. */
  async tell(text: string, to?: string): Promise<PublishResult> {
    try {
      return await this.#pubsub.publish(to === undefined ? ALL : inboxOf(to), text, {});
    } catch {
      return { ok: false, error: "DISCONNECTED", retryable: true };
    }
  }

  /** Tells that this process stops. Resolves once the message is published, because the process may end then. */
  async goodbye(graceMs: number): Promise<void> {
    const told = this.tell(encodePeer({ from: this.id, is: "bye", graceMs: Math.ceil(graceMs) }));
    await within(told, GOODBYE_TIMEOUT_MS, "no reply", { clock: this.clock }).catch(ignore);
  }

  // --- as a subscriber ---

  deliver(_topic: string, frame: string): number {
    const message = decodePeer(frame);
    if (message !== undefined) this.state.receive(message, this.clock.now());
    else this.#each((reader) => reader.received?.(frame));
    return 0;
  }

  missed(): void {
    this.#each((reader) => reader.missed?.());
    this.state.hello(this.clock.now());
  }

  // --- as the output of the state ---

  say(sign: Sign, to?: string): void {
    if (sign.hello) void this.#greet(sign);
    else void this.#say(sign, to);
  }

  asked(): void {
    this.#each((reader) => reader.asked?.());
  }

  told(peer: string, note: unknown): void {
    this.#each((reader) => reader.told?.(peer, note));
  }

  leaving(peer: string, graceMs: number): void {
    this.#each((reader) => reader.leaving?.(peer, graceMs));
  }

  gone(peer: string): void {
    this.#each((reader) => reader.gone?.(peer));
  }

  changed(): void {
    this.#each((reader) => reader.changed?.());
  }

  #each(tell: (reader: PeerReader) => void): void {
    for (const reader of [...this.#readers]) tell(reader);
  }

  #say(sign: Sign, to?: string): Promise<PublishResult> {
    let note: unknown;
    for (const reader of this.#watching) note ??= reader.note?.();
    return this.tell(encodePeer({ from: this.id, is: "alive", ...sign, note }), to);
  }

  /** Retries without a time limit: a process that asks no other would not learn what it has missed. */
  async #greet(sign: Sign): Promise<void> {
    this.#hellos++;
    if (this.#isGreeting) return;
    this.#isGreeting = true;
    for (let done = 0; done < this.#hellos && this.#readers.size > 0; ) {
      const current = this.#hellos;
      const result = await this.#say(sign);
      // A failure that is not retryable means that the pub/sub is closed.
      if (result.ok || !result.retryable) done = current;
      else await pause(this.clock, RETRY_MS);
    }
    this.#isGreeting = false;
  }

  // --- subscriptions and time ---

  #reconcile(): void {
    this.#use(inboxOf(this.id), this.#watching.size > 0);
    this.#use(ALL, this.#readers.size > 0);
    if (this.#watching.size > 0) return this.#begin();
    if (!this.#isLive) return;
    this.#isLive = false;
    this.state.rest();
    this.clock.clearTimeout(this.#timer);
  }

  #use(topic: string, isUsed: boolean): void {
    if (isUsed === this.#topics.has(topic)) return;
    if (isUsed) {
      this.#topics.set(topic, { isActive: false });
      void this.#subscribe(topic);
    } else {
      this.#topics.delete(topic);
      void (async () => this.#pubsub.unsubscribe(topic, this))().catch(ignore);
    }
  }

  /** Synchronous when the pub/sub is, so that servers of one process know each other at once. */
  async #subscribe(topic: string): Promise<void> {
    const attempt = this.#topics.get(topic);
    while (attempt !== undefined && this.#topics.get(topic) === attempt) {
      try {
        const pending = this.#pubsub.subscribe(topic, this);
        if (pending !== undefined) await pending;
        if (this.#topics.get(topic) !== attempt) return;
        attempt.isActive = true;
        // Other processes may have asked before the subscription was confirmed.
        if (pending !== undefined) this.asked();
        return this.#begin();
      } catch {
        await pause(this.clock, RETRY_MS);
      }
    }
  }

  /** Once the subscriptions are active, this process can be told what it has missed. */
  #begin(): void {
    for (const { isActive } of this.#topics.values()) if (!isActive) return;
    const now = this.clock.now();
    if (this.#watching.size === 0) return this.state.hello(now);
    if (this.#isLive) return;
    this.#isLive = true;
    this.state.live(now);
    if (this.isRemote) this.#tick();
  }

  #tick(): void {
    this.#timer = this.clock.setTimeout(() => this.#tick(), TICK_MS);
    const now = this.clock.now();
    this.state.tick(now);
    for (const reader of [...this.#watching]) reader.tick?.(now);
  }
}

function inboxOf(id: string): string {
  return `$peers/${id}`;
}

/** One per pub/sub: what uses the same pub/sub is one process to the others. */
const known = new WeakMap<PubSub, Peers>();
const claimed = new WeakSet<Peers>();

export function peersOf(pubsub: PubSub): Peers {
  const peers = known.get(pubsub) ?? new Peers(pubsub);
  known.set(pubsub, peers);
  return peers;
}

/** For what tells others about itself: the second server of a pub/sub is a process of its own to them. */
export function claimPeers(pubsub: PubSub, clock: Clock): Peers {
  const shared = peersOf(pubsub);
  if (clock !== shared.clock || claimed.has(shared)) return new Peers(pubsub, clock);
  claimed.add(shared);
  return shared;
}
