/** Carries the messages of presence between the servers that share a pub/sub, and lets time pass in their state. */
import { type Clock, pause, RETRY_MS, uuidv7 } from "@halyard/base";
import { claimPeers, type PeerReader, type Peers } from "../../peers/peers.ts";
import type { PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import type { Batch, States } from "./own-members.ts";
import {
  decodePresence,
  encodeAnswer,
  encodeAsk,
  encodeChanges,
  encodeSince,
  isCount,
  isOwnEcho,
  splitTopics,
} from "./presence-message.ts";
import { type PresenceOutput, PresenceState } from "./presence-state.ts";

/** Applications cannot use topics that begin with "$". */
const ALL = "$presence";
/** Topics that are watched within this time are requested together. */
const ASK_DELAY_MS = 5;

/** A server without a pub/sub is alone. */
const ALONE = { isCutOff: false, isSettled: true } as const;

export class PresenceExchange implements Subscriber, PresenceOutput, PeerReader {
  readonly state: PresenceState;
  readonly split: PresenceOutput["split"] = splitTopics;
  readonly #id: string;
  readonly #pubsub: PubSub | undefined;
  readonly #peers: Peers | undefined;
  readonly #clock: Clock;
  readonly #listChanged: (topic: string | undefined) => void;
  #isRunning = false;
  #isAsking = false;

  /** Without a pub/sub, as in a Durable Object, this server is alone. */
  constructor(pubsub: PubSub | undefined, clock: Clock, listChanged: (topic: string | undefined) => void) {
    this.#peers = pubsub && claimPeers(pubsub, clock);
    this.#id = this.#peers?.id ?? uuidv7(clock.wall());
    this.#pubsub = pubsub;
    this.#clock = clock;
    this.#listChanged = listChanged;
    this.state = new PresenceState(this.#id, this, this.#peers?.state ?? ALONE, this.isRemote);
  }

  /** Whether the other servers may be in other processes. */
  get isRemote(): boolean {
    return this.#peers?.isRemote === true;
  }

  start(): void {
    if (this.#isRunning || this.#pubsub === undefined) return;
    this.#isRunning = true;
    void this.#subscribe(this.#pubsub);
  }

  /**
   * Tells the other servers that this one stops: its members leave after `graceMs`, unless they join another. Resolves
   * once the message is published, because the process may end then.
   */
  async stop(graceMs: number): Promise<void> {
    if (!this.#isRunning || this.#pubsub === undefined) return;
    this.state.flush();
    const told = this.#peers?.goodbye(graceMs);
    this.#isRunning = false;
    this.#peers?.leave(this);
    void this.#unsubscribe(this.#pubsub);
    await told;
  }

  /** Requests newly watched topics from the other servers. */
  askSoon(): void {
    if (!this.state.hasWanted) return;
    if (!this.isRemote) return this.state.ask(this.#clock.now());
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#clock.setTimeout(() => {
      this.#isAsking = false;
      this.state.ask(this.#clock.now());
    }, ASK_DELAY_MS);
  }

  // --- as a subscriber ---

  deliver(_topic: string, frame: string): number {
    this.received(frame);
    return 0;
  }

  // --- as a reader of peers ---

  received(frame: string): void {
    if (!this.#isRunning || isOwnEcho(frame, this.#id)) return;
    const message = decodePresence(frame, (topic) => this.state.lists.isWatched(topic));
    if (message === undefined) return;
    const now = this.#clock.now();
    this.#peers?.state.expect(message.from, now);
    this.state.receive(message, now);
  }

  note(): number {
    return this.state.lists.own.version;
  }

  told(peer: string, note: unknown): void {
    if (isCount(note)) this.state.told(peer, note, this.#clock.now());
  }

  leaving(peer: string, graceMs: number): void {
    this.state.leaving(peer, this.#clock.now() + graceMs);
    if (this.isRemote) return;
    // In one process, time matters only for the members of a server that has stopped.
    this.#clock.setTimeout(() => {
      if (this.#isRunning) this.state.tick(this.#clock.now());
    }, graceMs);
  }

  gone(peer: string): void {
    this.state.gone(peer);
  }

  changed(): void {
    this.state.connectionChanged(this.#clock.now());
  }

  tick(now: number): void {
    this.state.tick(now);
  }

  // --- as the output of the state ---

  changes(batch: Batch): void {
    for (const message of encodeChanges(this.#id, batch)) void this.#send(message);
  }

  ask(version: number, id: number, topics: readonly string[], to?: string): void {
    void this.#send(encodeAsk(this.#id, version, id, topics), to);
  }

  since(version: number, id: number, since: number, to: string): void {
    void this.#send(encodeSince(this.#id, version, id, since), to);
  }

  answer(id: number, states: States, to: string): void {
    for (const message of encodeAnswer(this.#id, id, states)) void this.#send(message, to);
  }

  listChanged(topic: string | undefined): void {
    this.#listChanged(topic);
  }

  /** Never rejects: a message that is lost is requested again. */
  async #send(message: string, to?: string): Promise<void> {
    if (!this.#isRunning) return;
    try {
      if (to === undefined) await this.#pubsub?.publish(ALL, message, {});
      else await this.#peers?.tell(message, to);
    } catch {
      // As a lost message.
    }
  }

  // --- subscriptions ---

  /** Synchronous when the pub/sub is, so that servers of one process know each other at once. */
  async #subscribe(pubsub: PubSub): Promise<void> {
    while (this.#isRunning) {
      try {
        const pending = pubsub.subscribe(ALL, this);
        if (pending !== undefined) await pending;
        if (this.#isRunning) this.#peers?.join(this, true);
        return;
      } catch {
        await pause(this.#clock, RETRY_MS);
      }
    }
  }

  async #unsubscribe(pubsub: PubSub): Promise<void> {
    try {
      await pubsub.unsubscribe(ALL, this);
    } catch {
      // The pub/sub is closed.
    }
  }
}
