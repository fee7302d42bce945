/** Carries the messages of presence between the servers that share a pub/sub, and lets time pass in their state. */
import { type Clock, ignore, pause, RETRY_MS, uuidv7, within } from "@halyard/base";
import type { PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import type { Batch, States } from "./own-members.ts";
import {
  decodePresence,
  encodeAlive,
  encodeAnswer,
  encodeAsk,
  encodeBye,
  encodeChanges,
  encodeSince,
  isOwnEcho,
  splitTopics,
} from "./presence-message.ts";
import { type PresenceOutput, PresenceState } from "./presence-state.ts";

/** Applications cannot use topics that begin with "$". */
const ALL = "$presence";
const TICK_MS = 100;
/** Topics that are watched within this time are requested together. */
const ASK_DELAY_MS = 5;
const STOP_TIMEOUT_MS = 500;

export class PresenceExchange implements Subscriber, PresenceOutput {
  readonly state: PresenceState;
  /** Whether the other servers may be in other processes. */
  readonly isRemote: boolean;
  readonly split: PresenceOutput["split"] = splitTopics;
  readonly #id: string;
  readonly #pubsub: PubSub | undefined;
  readonly #clock: Clock;
  readonly #changed: (topic: string | undefined) => void;
  #isRunning = false;
  #isAsking = false;
  #timer: unknown;

  /** Without a pub/sub, as in a Durable Object, this server is alone. */
  constructor(pubsub: PubSub | undefined, clock: Clock, changed: (topic: string | undefined) => void) {
    this.isRemote = pubsub?.spansProcesses === true;
    this.#id = uuidv7(clock.wall());
    this.#pubsub = pubsub;
    this.#clock = clock;
    this.#changed = changed;
    this.state = new PresenceState(this.#id, this, this.isRemote);
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
    const told = this.#send(encodeBye(this.#id, this.state.lists.own.version, graceMs));
    this.#isRunning = false;
    this.#clock.clearTimeout(this.#timer);
    for (const topic of [ALL, this.#inboxOf(this.#id)]) void this.#unsubscribe(this.#pubsub, topic);
    await within(told, STOP_TIMEOUT_MS, "no reply", { clock: this.#clock }).catch(ignore);
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
    if (!this.#isRunning || isOwnEcho(frame, this.#id)) return 0;
    const message = decodePresence(frame, (topic) => this.state.lists.isWatched(topic));
    if (message !== undefined) this.state.receive(message, this.#clock.now());
    if (message?.is === "bye" && !this.isRemote) this.#tickLater(message.graceMs);
    return 0;
  }

  missed(): void {
    this.state.missed();
  }

  // --- as the output of the state ---

  alive(version: number, hello: boolean, to?: string): void {
    void this.#send(encodeAlive(this.#id, version, hello), to);
  }

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

  changed(topic: string | undefined): void {
    this.#changed(topic);
  }

  /** Never rejects: a message that is lost is requested again. */
  async #send(message: string, to?: string): Promise<void> {
    if (!this.#isRunning) return;
    try {
      await this.#pubsub?.publish(to === undefined ? ALL : this.#inboxOf(to), message, {});
    } catch {
      // As a lost message.
    }
  }

  #inboxOf(id: string): string {
    return `${ALL}/${id}`;
  }

  // --- subscriptions and time ---

  async #subscribe(pubsub: PubSub): Promise<void> {
    for (const topic of [this.#inboxOf(this.#id), ALL]) {
      const pending = this.#attempt(pubsub, topic);
      if (pending !== undefined) await pending;
    }
    if (!this.#isRunning) return;
    this.state.start(this.#clock.now());
    if (this.isRemote) this.#tick();
  }

  /** Synchronous when the pub/sub is, so that servers of one process know each other at once. */
  #attempt(pubsub: PubSub, topic: string): Promise<void> | undefined {
    try {
      const pending = pubsub.subscribe(topic, this);
      return pending === undefined ? undefined : pending.catch(() => this.#retry(pubsub, topic));
    } catch {
      return this.#retry(pubsub, topic);
    }
  }

  async #retry(pubsub: PubSub, topic: string): Promise<void> {
    await pause(this.#clock, RETRY_MS);
    if (this.#isRunning) await this.#attempt(pubsub, topic);
  }

  async #unsubscribe(pubsub: PubSub, topic: string): Promise<void> {
    try {
      await pubsub.unsubscribe(topic, this);
    } catch {
      // The pub/sub is closed.
    }
  }

  #tick(): void {
    if (!this.#isRunning) return;
    this.#timer = this.#clock.setTimeout(() => this.#tick(), TICK_MS);
    this.state.tick(this.#clock.now());
  }

  /** In one process, time matters only for the members of a server that has stopped. */
  #tickLater(delayMs: number): void {
    this.#clock.setTimeout(() => {
      if (this.#isRunning) this.state.tick(this.#clock.now());
    }, delayMs);
  }
}
