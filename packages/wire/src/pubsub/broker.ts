/**
 * Pub/sub over a broker, whichever it is: one interest per topic however many subscribers, every publish answered in
 * time, every hole in what is heard announced. All frames come from the broker, those of this process too, so that
 * every process sees a publisher's frames in the same order.
 */
import { byteLength } from "../protocol/bytes.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import { type Clock, systemClock } from "../router/clock.ts";
import { decodeBusMessage, encodeBusMessage } from "./bus-message.ts";
import { HeardPositions, PublishedPositions } from "./positions.ts";
import type { CarryOptions, PublishResult, PubSub, PubSubStatus, Subscriber } from "./pubsub.ts";
import type { Transport, TransportEvents } from "./transport.ts";
import { Unanswered } from "./unanswered.ts";
import { messageOf, within } from "./waits.ts";

/** A link that is back sooner is announced once, when it is back. */
const GRACE_MS = 300;
/** More bytes without an answer from the broker are refused with `BACKPRESSURE`. */
const MAX_UNANSWERED_BYTES = 16 * 1024 * 1024;
/** A broker that died may have taken along what it accepted this long before its connections broke. */
const DOUBTFUL_MS = 5_000;
/** Half a character has no bytes of UTF-8, and so no way over a network. */
const HALF_CHARACTER = /\p{Surrogate}/u;
const BAD_TOPIC = "A topic that leaves the process must be well-formed text.";
const DEFAULT_MAX_MESSAGE_BYTES = 1_000_000;
const DEFAULT_REPLY_TIMEOUT_MS = 2_000;

export interface BrokerOptions {
  /** The largest message, published or heard, in bytes of UTF-8. Default 1,000,000. */
  readonly maxMessageBytes?: number;
  /** How long the broker may take to confirm a publish or a subscription. Default 2,000. */
  readonly replyTimeoutMs?: number;
}

interface Topic {
  readonly subscribers: Set<Subscriber>;
  /** Undefined once the broker has confirmed. */
  confirming: Promise<void> | undefined;
  readonly heard: HeardPositions;
  /** Since when everything is heard, by the monotonic clock. */
  soundSince: number;
  /** Undefined while everything is heard. */
  lost: Lost | undefined;
}

interface Lost {
  readonly over: Promise<void>;
  end(): void;
}

export class BrokerPubSub implements PubSub, TransportEvents {
  readonly spansProcesses = true;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #transport: Transport;
  readonly #id = uuidv7();
  readonly #replyTimeoutMs: number;
  readonly #maxMessageBytes: number;
  readonly #topics = new Map<string, Topic>();
  readonly #published = new PublishedPositions();
  readonly #unanswered: Unanswered;
  readonly #counts = { gaps: 0, refused: 0 };
  #isClosed = false;

  /** `name` is what logs call it. */
  constructor(
    name: string,
    connect: (events: TransportEvents, replyTimeoutMs: number, clock: Clock) => Transport,
    options: BrokerOptions = {},
    clock: Clock = systemClock,
  ) {
    const replyTimeoutMs = positive("replyTimeoutMs", options.replyTimeoutMs, DEFAULT_REPLY_TIMEOUT_MS);
    this.#name = name;
    this.#clock = clock;
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#maxMessageBytes = positive("maxMessageBytes", options.maxMessageBytes, DEFAULT_MAX_MESSAGE_BYTES);
    this.#unanswered = new Unanswered(clock, replyTimeoutMs, MAX_UNANSWERED_BYTES);
    this.#transport = connect(this, replyTimeoutMs, clock);
  }

  get status(): PubSubStatus {
    return { connected: !this.#isClosed && this.#transport.isConnected, ...this.#counts };
  }

  // --- subscribing ---

  subscribe(topic: string, subscriber: Subscriber): void | Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error(`The ${this.#name} is closed.`));
    if (HALF_CHARACTER.test(topic)) return Promise.reject(new TypeError(BAD_TOPIC));
    const known = this.#topics.get(topic);
    if (known !== undefined) return this.#join(topic, known, subscriber);
    const made: Topic = {
      subscribers: new Set([subscriber]),
      confirming: undefined,
      heard: new HeardPositions(),
      soundSince: Number.POSITIVE_INFINITY,
      lost: undefined,
    };
    this.#topics.set(topic, made);
    made.confirming = this.#transport.subscribe(topic).then(
      () => {
        made.confirming = undefined;
        made.soundSince = this.#clock.now();
      },
      (error: unknown) => {
        // Nobody listens, so nobody is left in the list to believe it.
        if (this.#topics.get(topic) === made) this.#topics.delete(topic);
        throw error;
      },
    );
    // Whoever waits for it hears of the failure; that nobody may wait is no reason to end the process.
    made.confirming.catch(() => undefined);
    return made.confirming;
  }

  /** A topic that is not heard at the moment is joined once it is, or not at all. */
  #join(name: string, topic: Topic, subscriber: Subscriber): void | Promise<void> {
    const isNew = !topic.subscribers.has(subscriber);
    topic.subscribers.add(subscriber);
    if (topic.confirming !== undefined) return topic.confirming;
    if (topic.lost === undefined) return;
    return within(this.#clock, this.#replyTimeoutMs, "finding the broker again", topic.lost.over).catch(
      (error: unknown) => {
        if (isNew && this.#topics.get(name) === topic) void this.unsubscribe(name, subscriber);
        throw error;
      },
    );
  }

  unsubscribe(topic: string, subscriber: Subscriber): void | Promise<void> {
    const known = this.#topics.get(topic);
    if (!known?.subscribers.delete(subscriber) || known.subscribers.size > 0) return;
    this.#topics.delete(topic);
    return this.#transport.unsubscribe(topic);
  }

  // --- publishing ---

  async publish(topic: string, frame: string, options: CarryOptions): Promise<PublishResult> {
    if (this.#isClosed)
      return { ok: false, error: "DISCONNECTED", retryable: false, details: { reason: "it is closed" } };
    if (HALF_CHARACTER.test(topic))
      return { ok: false, error: "VALIDATION", retryable: false, details: { topic: BAD_TOPIC } };
    if (this.#unanswered.isFull) return { ok: false, error: "BACKPRESSURE", retryable: true };
    const { sequence, previous } = this.#published.next(topic);
    const { excludeClientId } = options;
    const message = encodeBusMessage({ publisher: this.#id, sequence, previous, excludeClientId, frame });
    const maxMessageBytes = Math.min(
      this.#maxMessageBytes,
      this.#transport.maxMessageBytes ?? Number.POSITIVE_INFINITY,
    );
    if (isLarger(message, maxMessageBytes)) {
      this.#published.withdrawn(topic, previous);
      const details = { maxMessageBytes };
      return { ok: false, error: "VALIDATION", retryable: false, details };
    }
    try {
      await this.#unanswered.wait(this.#transport.publish(topic, message), message.length);
    } catch (error) {
      this.#published.failed(topic, sequence);
      return {
        ok: false,
        error: "DISCONNECTED",
        retryable: true,
        details: { reason: messageOf(error) },
      };
    }
    this.#published.accepted(topic, sequence, this.#clock.now());
    return { ok: true };
  }

  /** Says again what was accepted just before, so that who did not hear it knows. */
  resumed(lostAt: number): void {
    for (const { topic, accepted, acceptedAt } of this.#published.since(lostAt - DOUBTFUL_MS)) {
      const mark = encodeBusMessage({
        publisher: this.#id,
        sequence: accepted,
        previous: accepted,
        excludeClientId: undefined,
        frame: undefined,
        acceptedAgoMs: this.#clock.now() - acceptedAt,
      });
      // If this fails the link is lost again, and there will be another time.
      this.#transport.publish(topic, mark).catch(() => undefined);
    }
  }

  // --- hearing ---

  heard(name: string, text: string): void {
    const topic = this.#topics.get(name);
    if (topic === undefined || this.#isClosed) return;
    const message = isLarger(text, this.#maxMessageBytes) ? undefined : decodeBusMessage(text);
    if (message === undefined) {
      this.#refuse(name, topic);
      return;
    }
    const { publisher, sequence, previous, excludeClientId, frame, acceptedAgoMs } = message;
    const order = topic.heard.hear(publisher, sequence, previous);
    if (order === "repeated") return;
    // Not all of the link is back yet: the hole comes before what follows it.
    if (topic.lost !== undefined || order === "hole") this.#missed(name, topic);
    // Of a publisher not heard before, a mark tells of a message that was accepted since this topic is heard.
    else if (
      order === "first" &&
      this.#clock.now() - (acceptedAgoMs ?? Number.POSITIVE_INFINITY) > topic.soundSince
    )
      this.#missed(name, topic);
    if (frame === undefined) return;
    for (const subscriber of topic.subscribers) {
      if (subscriber.accepts?.(frame) === false) {
        this.#refuse(name, topic);
        return;
      }
      subscriber.deliver(name, frame, excludeClientId);
    }
  }

  /** Something came that nobody can use: if it was meant for the subscribers, they have missed it. */
  #refuse(name: string, topic: Topic): void {
    this.#counts.refused++;
    if (this.#counts.refused === 1) {
      console.warn(
        `[halyard] The ${this.#name} refused a message on "${name}" that is not ours, or too large. Give every application its own prefix; further ones are only counted.`,
      );
    }
    this.#missed(name, topic);
  }

  #missed(name: string, topic: Topic): void {
    this.#counts.gaps++;
    for (const subscriber of topic.subscribers) subscriber.missed?.(name);
  }

  // --- losing and finding the broker ---

  lost(topics: Iterable<string>, reason: string): void {
    const names: string[] = [];
    for (const name of topics) {
      const topic = this.#topics.get(name);
      if (topic === undefined || topic.lost !== undefined) continue;
      topic.lost = lost();
      names.push(name);
    }
    if (names.length === 0) return;
    console.warn(`[halyard] The ${this.#name} hears nothing: ${reason}. It tries to connect again.`);
    this.#clock.setTimeout(() => {
      this.#announce(names.filter((name) => this.#topics.get(name)?.lost !== undefined));
    }, GRACE_MS);
  }

  restored(topics: Iterable<string>): void {
    const names: string[] = [];
    for (const name of topics) {
      const topic = this.#topics.get(name);
      if (topic?.lost === undefined) continue;
      topic.lost.end();
      topic.lost = undefined;
      topic.soundSince = this.#clock.now();
      topic.heard.clear();
      names.push(name);
    }
    if (names.length === 0) return;
    console.info(`[halyard] The ${this.#name} hears again.`);
    this.#announce(names);
  }

  /** One word to a subscriber that has lost everything, one for each topic to the others. */
  #announce(names: readonly string[]): void {
    if (names.length === 0 || this.#isClosed) return;
    this.#counts.gaps++;
    const isAll = names.length === this.#topics.size;
    const told = new Set<Subscriber>();
    for (const name of names) {
      for (const subscriber of this.#topics.get(name)?.subscribers ?? []) {
        if (!isAll) subscriber.missed?.(name);
        else if (!told.has(subscriber)) subscriber.missed?.(undefined);
        told.add(subscriber);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#topics.clear();
    await this.#transport.close();
  }
}

function isLarger(message: string, bytes: number): boolean {
  if (message.length * 3 <= bytes) return false;
  return message.length > bytes || byteLength(message) > bytes;
}

function lost(): Lost {
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { over, end };
}

function positive(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value > 0) return value;
  throw new TypeError(
    `The option ${name} is ${String(value)}; it takes a number above 0. Leave it out for ${fallback}.`,
  );
}
