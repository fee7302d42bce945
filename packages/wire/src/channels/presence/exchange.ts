/** Carries the messages of presence between the servers that share a pub/sub, and lets time pass in their state. */
import { type Clock, ignore, pause, RETRY_MS, uuidv7 } from "@halyard/base";
import { claimPeers, type PeerReader, type Peers } from "../../peers/peers.ts";
import { accompaniedBy, companionOf } from "../../pubsub/companion.ts";
import type { PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import type { RoomChange } from "./own-members.ts";
import {
  type Answer,
  decodePresence,
  encodeAnswer,
  encodeAsk,
  encodeChange,
  isOwnEcho,
  type Question,
} from "./presence-message.ts";
import { type PresenceOutput, PresenceState } from "./presence-state.ts";
import type { Search } from "./search.ts";

/** What a process with presence tells with its signs of life. */
const NOTE = "presence";
/** Topics that are watched within this time are requested together. */
const ASK_DELAY_MS = 5;
/** A server without a pub/sub is alone. */
const ALONE = { isCutOff: false, isSettled: true, expect: () => true } as const;

export class PresenceExchange implements PresenceOutput, PeerReader {
  readonly state: PresenceState;
  readonly #id: string;
  readonly #pubsub: PubSub | undefined;
  readonly #peers: Peers | undefined;
  readonly #clock: Clock;
  readonly #listChanged: (topic: string | undefined) => void;
  /** Receives what is published about the rooms that are watched here. */
  readonly #rooms: Subscriber = {
    deliver: (_companion, frame) => {
      this.received(frame);
      return 0;
    },
    missed: (companion) => this.state.missed(companion && accompaniedBy(companion), this.#clock.now()),
  };
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
    if (this.#isRunning || this.#peers === undefined) return;
    this.#isRunning = true;
    this.#peers.join(this, true);
  }

  /**
   * Tells the other servers that this one stops: its members leave after `graceMs`, unless they join another. Resolves
   * once the message is published, because the process may end then.
   */
  async stop(graceMs: number): Promise<void> {
    if (!this.#isRunning || this.#peers === undefined) return;
    this.state.flush();
    const told = this.#peers.goodbye(graceMs);
    this.#isRunning = false;
    this.#peers.leave(this);
    for (const topic of this.state.lists.topics) this.release(topic);
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
      if (this.#isRunning) this.state.ask(this.#clock.now());
    }, ASK_DELAY_MS);
  }

  // --- as a reader of peers ---

  received(frame: string): void {
    if (!this.#isRunning || isOwnEcho(frame, this.#id)) return;
    const message = decodePresence(frame);
    if (message === undefined) return;
    this.state.receive(message, this.#clock.now());
  }

  note(): string {
    return NOTE;
  }

  told(peer: string, note: unknown): void {
    if (note === NOTE) this.state.told(peer, this.#clock.now());
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

  seek(topic: string, id: number, search: Search): void {
    void this.#seek(topic, id, search);
  }

  /** Synchronous when the pub/sub is: servers of one process answer within the call. */
  async #seek(topic: string, id: number, search: Search): Promise<void> {
    const pubsub = this.#pubsub;
    const ask = (): string => encodeAsk(this.#id, id, this.state.questionsAbout(topic));
    let hasOthers: boolean | undefined = this.isRemote ? undefined : false;
    try {
      if (pubsub?.enter !== undefined) hasOthers = await pubsub.enter(companionOf(topic), this.#rooms, ask);
      else if (pubsub !== undefined) {
        const confirmed = pubsub.subscribe(companionOf(topic), this.#rooms);
        if (confirmed !== undefined) await confirmed;
        if (!this.isRemote) void pubsub.publish(companionOf(topic), ask(), {});
      }
      this.state.sought(search, hasOthers, this.#clock.now());
    } catch {
      await pause(this.#clock, RETRY_MS);
      this.state.refused(topic);
    }
  }

  enter(search: Search): void {
    void this.#enter(search);
  }

  async #enter(search: Search): Promise<void> {
    const entering = [...search.topics].map(async (topic) => {
      try {
        await this.#pubsub?.subscribe(companionOf(topic), this.#rooms);
      } catch {
        this.state.refused(topic);
      }
    });
    await Promise.all(entering);
    this.state.entered(search, this.#clock.now());
  }

  release(topic: string): void {
    void (async () => this.#pubsub?.unsubscribe(companionOf(topic), this.#rooms))().catch(ignore);
  }

  change(change: RoomChange): void {
    void this.#change(change);
  }

  async #change(change: RoomChange): Promise<void> {
    if (!this.#isRunning) return;
    for (const text of encodeChange(this.#id, change)) {
      if (await this.#publish(companionOf(change.topic), text)) continue;
      if (this.#isRunning) this.state.unsent(change, this.#clock.now());
      return;
    }
  }

  /** Whether the message may arrive. */
  async #publish(topic: string, text: string): Promise<boolean> {
    try {
      const result = await this.#pubsub?.publish(topic, text, {});
      return result === undefined || result.ok || !result.retryable;
    } catch {
      return false;
    }
  }

  ask(id: number, rooms: readonly Question[], to: string): void {
    this.#send(encodeAsk(this.#id, id, rooms), to);
  }

  answer(id: number, version: number, rooms: readonly Answer[], to: string): void {
    for (const message of encodeAnswer(this.#id, id, version, rooms)) this.#send(message, to);
  }

  /** What is lost is asked for again. */
  #send(message: string, to: string): void {
    if (this.#isRunning) void this.#peers?.tell(message, to);
  }

  listChanged(topic: string | undefined): void {
    this.#listChanged(topic);
  }
}
