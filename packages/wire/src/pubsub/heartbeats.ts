/**
 * Heartbeats between processes, on a channel of their own: each shows that its publisher lives, and what time its clock
 * shows. A process receives its own too, which proves that it would have received those of others.
 */
import { type Clock, ignore } from "@halyard/base";
import type { KnownPublishers } from "./known-publishers.ts";
import { sequenceAt } from "./sequence-time.ts";
import { HEARTBEATS, type Transport } from "./transport.ts";

/** Three fit into the 60 s after which a publisher is dead. */
const EVERY_MS = 15_000;
/** Version, publisher, its time as a sequence number. */
const FORMAT = /^1 ([0-9a-z-]{1,40}) ([0-9]{1,15})$/;
const MAX_LENGTH = 60;

export class Heartbeats {
  readonly #clock: Clock;
  readonly #id: string;
  readonly #publishers: KnownPublishers;
  readonly #transport: Transport;
  #isSending = false;
  #listening: "no" | "wanted" | "yes" = "no";
  #timer: unknown;
  /** Monotonic time of the last own heartbeat that was received, in ms. */
  #receivedAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, id: string, publishers: KnownPublishers, transport: Transport) {
    this.#clock = clock;
    this.#id = id;
    this.#publishers = publishers;
    this.#transport = transport;
  }

  /** This process publishes. */
  send(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    this.#beat();
  }

  /** This process subscribes, so it needs the heartbeats of others and its own. */
  listen(): void {
    if (this.#listening !== "no") return;
    this.#listening = "wanted";
    this.#subscribe();
    this.send();
  }

  received(text: string): void {
    if (text.length > MAX_LENGTH) return;
    const [, id, sequence] = FORMAT.exec(text) ?? [];
    if (id === undefined) return;
    const now = this.#clock.now();
    this.#publishers.heard(id).compareClocks(Number(sequence), now);
    if (id !== this.#id) return;
    // Time in which this process received nothing proves nothing about others.
    this.#publishers.passed(Math.max(0, Math.min(now - this.#receivedAt, 2 * EVERY_MS)));
    this.#receivedAt = now;
  }

  stop(): void {
    this.#isSending = true;
    this.#listening = "yes";
    this.#clock.clearTimeout(this.#timer);
  }

  #beat(): void {
    // At random, so that the processes of a cluster do not send at the same time.
    this.#timer = this.#clock.setTimeout(() => this.#beat(), EVERY_MS * (0.8 + Math.random() * 0.2));
    if (this.#listening === "wanted") this.#subscribe();
    const text = `1 ${this.#id} ${sequenceAt(this.#clock.now())}`;
    this.#transport.publish(HEARTBEATS, text).catch(ignore);
  }

  /** Tried again with the next heartbeat. */
  #subscribe(): void {
    this.#listening = "yes";
    this.#transport.subscribe(HEARTBEATS).catch(() => {
      if (this.#listening === "yes") this.#listening = "wanted";
    });
  }
}
