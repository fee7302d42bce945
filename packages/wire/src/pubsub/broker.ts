/**
 * Pub/sub over any broker: one broker subscription per topic, a result for every publish in time, and an announcement of
 * every gap. A process receives its own messages from the broker too, so that all processes see the messages of one
 * publisher in the same order.
 */
import { type Clock, systemClock, uuidv7, within } from "@halyard/base";
import { positiveOption } from "../protocol/checks.ts";
import { messageOf } from "../protocol/error.ts";
import { BrokerHistory, type Carried, type Numbers, type Prepared } from "./broker-history.ts";
import { decodeBrokerMessage, encodeBrokerMessage } from "./broker-message.ts";
import { isGap } from "./gap.ts";
import { GapAnnouncements } from "./gap-announcements.ts";
import { Heartbeats } from "./heartbeats.ts";
import type { History } from "./history.ts";
import { KnownPublishers } from "./known-publishers.ts";
import { type Mark, Marks, TURN_EVERY_MS } from "./marks.ts";
import { isLarger, topicProblem } from "./message-checks.ts";
import { PendingPublishes } from "./pending-publishes.ts";
import { PublishedPositions } from "./positions.ts";
import type { CarryOptions, PublishResult, PubSub, PubSubStatus, Subscriber } from "./pubsub.ts";
import { Topic } from "./topic.ts";
import { type Connect, HEARTBEATS, type Transport, type TransportEvents } from "./transport.ts";

/** A connection that is lost for less than this is announced once, when it is restored. */
const GRACE_MS = 300;
/** Above this many unconfirmed bytes, publishes are refused with `BACKPRESSURE`. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
/** How many topics are searched in one turn of the event loop for positions of publishers that are gone. */
const TOPICS_PER_TURN = 2_000;
const DEFAULT_MAX_MESSAGE_BYTES = 1_000_000;
const DEFAULT_REPLY_TIMEOUT_MS = 2_000;

/** The options of every pub/sub with a broker. */
export interface BrokerOptions {
  /** The largest message that is published or received, in bytes of UTF-8. Default 1,000,000. */
  readonly maxMessageBytes?: number;
  /** How long the broker may take to confirm a publish or a subscription, in ms. Default 2,000. */
  readonly replyTimeoutMs?: number;
}

/** Carries topics between processes over a broker. Created by `redisPubSub()` or `natsPubSub()`. */
export class BrokerPubSub implements PubSub, TransportEvents {
  readonly spansProcesses = true;
  /** The frames that are kept at the broker for readers which come back; undefined with NATS. */
  readonly history: History | undefined;
  /** For logs and errors. */
  readonly #name: string;
  readonly #connect: Connect;
  readonly #options: BrokerOptions;
  readonly #clock: Clock;
  readonly #transport: Transport;
  readonly #id = uuidv7();
  readonly #replyTimeoutMs: number;
  readonly #maxMessageBytes: number;
  readonly #topics = new Map<string, Topic>();
  readonly #published = new PublishedPositions();
  readonly #pendingPublishes: PendingPublishes;
  readonly #publishers = new KnownPublishers((numbers) => this.#removePositions(numbers));
  readonly #gaps: GapAnnouncements<Topic>;
  readonly #marks: Marks;
  readonly #heartbeats: Heartbeats;
  readonly #counts = { gaps: 0, refused: 0 };
  /** Subscriptions that were restored and not logged yet. */
  #restoredCount = 0;
  #isClosed = false;

  constructor(
    name: string,
    connect: Connect,
    options: BrokerOptions = {},
    clock: Clock = systemClock,
    onlyPublishes = false,
  ) {
    const replyTimeoutMs = positiveOption("replyTimeoutMs", options.replyTimeoutMs, DEFAULT_REPLY_TIMEOUT_MS);
    this.#name = name;
    this.#connect = connect;
    this.#options = options;
    this.#clock = clock;
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#maxMessageBytes = positiveOption(
      "maxMessageBytes",
      options.maxMessageBytes,
      DEFAULT_MAX_MESSAGE_BYTES,
    );
    this.#pendingPublishes = new PendingPublishes(clock, replyTimeoutMs, MAX_PENDING_BYTES);
    this.#gaps = new GapAnnouncements(clock, (topic) => announce(topic));
    this.#marks = new Marks(clock, this.#published, (mark) => this.#publishMark(mark));
    this.#transport = connect(this, replyTimeoutMs, clock, onlyPublishes);
    this.#heartbeats = new Heartbeats(clock, this.#id, this.#publishers, this.#transport);
    const { logs } = this.#transport;
    this.history =
      logs &&
      new BrokerHistory(logs, {
        id: this.#id,
        carry: (topic, prepare, isPublished) => this.#carry(topic, prepare, isPublished),
        ask: (ask) => this.#inTime(ask(), "a reply of the broker"),
        isClosed: () => this.#isClosed,
      });
  }

  /** Another pub/sub over the same broker, to publish only. `close()` of either does not close the other. */
  publisher(): BrokerPubSub {
    return new BrokerPubSub(this.#name, this.#connect, this.#options, this.#clock, true);
  }

  get status(): PubSubStatus {
    return { connected: !this.#isClosed && this.#transport.isConnected, ...this.#counts };
  }

  // --- subscribing ---

  subscribe(topic: string, subscriber: Subscriber): void | Promise<void> {
    if (this.#isClosed)
      return Promise.reject(
        new Error(`The ${this.#name} was closed with close(). Create a new one to subscribe.`),
      );
    const problem = topicProblem(topic);
    if (problem !== undefined) return Promise.reject(new TypeError(problem));
    const existing = this.#topics.get(topic);
    if (existing !== undefined) return this.#join(existing, subscriber);
    const added = new Topic(topic, subscriber);
    this.#topics.set(added.name, added);
    added.confirming = this.#transport.subscribe(added.name).then(
      () => {
        added.confirming = undefined;
        added.completeSince = this.#clock.now();
      },
      (error: unknown) => {
        // Without a broker subscription the topic must not look subscribed.
        if (this.#topics.get(topic) === added) this.#topics.delete(topic);
        throw error;
      },
    );
    // The caller may ignore the promise; an unhandled rejection would end the process.
    added.confirming.catch(() => undefined);
    this.#heartbeats.listen();
    return added.confirming;
  }

  async enter(name: string, subscriber: Subscriber, frame: () => string): Promise<boolean | undefined> {
    const probe = this.#transport.probe?.bind(this.#transport);
    const isFirst = !this.#topics.has(name);
    // Sent before the subscription: the broker then knows of others only.
    const probing = probe && isFirst ? this.#carryFrame(name, frame(), probe) : undefined;
    await this.subscribe(name, subscriber);
    const probed = await probing;
    if (probed?.ok && probed.reply) return true;
    // The subscriber left in the meantime.
    if (!this.#topics.get(name)?.subscribers.has(subscriber)) return undefined;
    // Others may enter at the same time: each must receive the frame of one that came later.
    const carried = await this.#carryFrame(name, frame(), this.#transport.publish.bind(this.#transport));
    if ((this.#topics.get(name)?.subscribers.size ?? 0) > 1) return true;
    if (!carried.ok) return undefined;
    if (typeof carried.reply === "number") return carried.reply > 1;
    return probed?.ok ? false : undefined;
  }

  /** During an outage, waits until the topic is restored, and takes the subscriber out again if that takes too long. */
  #join(topic: Topic, subscriber: Subscriber): void | Promise<void> {
    const isNew = !topic.subscribers.has(subscriber);
    topic.subscribers.add(subscriber);
    if (topic.confirming !== undefined) return topic.confirming;
    if (!topic.isLost) return;
    if (!isNew) return this.#inTime(topic.whenRestored(), "restoring the subscription");
    const join = topic.join(subscriber);
    return this.#inTime(join.over, "restoring the subscription").then(join.settled, (error: unknown) => {
      // Unless the subscriber left in the meantime, and perhaps joined again.
      if (join.isCurrent() && this.#topics.get(topic.name) === topic)
        void this.unsubscribe(topic.name, subscriber);
      throw error;
    });
  }

  #inTime<Result>(work: Promise<Result>, what: string): Promise<Result> {
    const message = `${what} took longer than ${this.#replyTimeoutMs} ms`;
    return within(work, this.#replyTimeoutMs, message, { clock: this.#clock });
  }

  unsubscribe(name: string, subscriber: Subscriber): void | Promise<void> {
    const topic = this.#topics.get(name);
    if (!topic?.leave(subscriber) || topic.subscribers.size > 0) return;
    this.#topics.delete(name);
    this.#gaps.remove(topic);
    return this.#transport.unsubscribe(name);
  }

  // --- publishing ---

  async publish(topic: string, frame: string, options: CarryOptions): Promise<PublishResult> {
    const publish = this.#transport.publish.bind(this.#transport);
    const carried = await this.#carryFrame(topic, frame, publish, options.excludeClientId);
    return carried.ok ? { ok: true } : carried;
  }

  #carryFrame<Reply>(
    topic: string,
    frame: string,
    send: (topic: string, message: string) => Promise<Reply>,
    excludeClientId?: string,
  ): Promise<Carried<Reply>> {
    return this.#carry(topic, (numbers) => {
      const message = encodeBrokerMessage({ publisher: this.#id, ...numbers, excludeClientId, frame });
      return { text: message, send: () => send(topic, message) };
    });
  }

  /** Numbers a message of the topic, and sends it if the limits allow it. */
  async #carry<Reply>(
    topic: string,
    prepare: (numbers: Numbers) => Prepared<Reply>,
    isPublished: (reply: Reply) => boolean = () => true,
  ): Promise<Carried<Reply>> {
    if (this.#isClosed)
      return {
        ok: false,
        error: "DISCONNECTED",
        retryable: false,
        details: { reason: "the pub/sub was closed with close()" },
      };
    const problem = topicProblem(topic);
    if (problem !== undefined)
      return { ok: false, error: "VALIDATION", retryable: false, details: { topic: problem } };
    if (this.#pendingPublishes.isFull) return { ok: false, error: "BACKPRESSURE", retryable: true };
    this.#heartbeats.send();
    const { place, sequence, previous } = this.#published.next(topic, this.#clock.now());
    const { text, send } = prepare({ sequence, previous });
    const maxMessageBytes = Math.min(
      this.#maxMessageBytes,
      this.#transport.maxMessageBytes ?? Number.POSITIVE_INFINITY,
    );
    if (isLarger(text, maxMessageBytes)) {
      this.#published.withdrawn(place, previous);
      const details = { maxMessageBytes };
      return { ok: false, error: "VALIDATION", retryable: false, details };
    }
    try {
      const reply = await this.#pendingPublishes.wait(send(), text.length);
      // What the broker did not publish is not part of the order.
      if (isPublished(reply)) this.#published.accepted(place, sequence);
      else this.#published.failed(place, sequence);
      return { ok: true, reply };
    } catch (error) {
      this.#published.failed(place, sequence);
      return { ok: false, error: "DISCONNECTED", retryable: true, details: { reason: messageOf(error) } };
    }
  }

  resumed(lostAt: number, concerns?: (topic: string) => boolean): void {
    this.#marks.resumed(lostAt, concerns);
  }

  #publishMark({ topic, accepted, agoMs }: Mark): void {
    const mark = encodeBrokerMessage({
      publisher: this.#id,
      sequence: accepted,
      previous: accepted,
      excludeClientId: undefined,
      frame: undefined,
      acceptedAgoMs: agoMs,
    });
    // A failure here means that the connection is lost again; the next `resumed` repeats the marks.
    this.#transport.publish(topic, mark).catch(() => undefined);
  }

  // --- receiving ---

  received(name: string, text: string): void {
    if (this.#isClosed) return;
    const topic = this.#topics.get(name);
    if (topic === undefined) {
      if (name === HEARTBEATS) this.#heartbeats.received(text);
      return;
    }
    const message = isLarger(text, this.#maxMessageBytes) ? undefined : decodeBrokerMessage(text);
    if (message === undefined) {
      this.#refuse(topic);
      return;
    }
    const publisher = this.#publishers.heard(message.publisher);
    const order = topic.positions.receive(publisher.number, message.sequence, message.previous);
    // An appended frame is delivered with its position, by which the subscriber recognizes a repeated one.
    if (order === "repeated" && message.position === undefined) return;
    // A gap is announced before the message that follows it. An outage is a gap, even if one connection works again.
    const isComplete = order === "next" || order === "repeated";
    if (topic.isLost || (!isComplete && isGap(topic, publisher, message, order, this.#clock.now())))
      this.#missed(topic);
    else this.#gaps.flush(topic);
    const { frame } = message;
    if (frame === undefined) return;
    for (const subscriber of topic.subscribers) {
      if (subscriber.accepts?.(frame) === false) {
        this.#refuse(topic);
        return;
      }
      subscriber.deliver(name, frame, message.excludeClientId, message.position);
    }
  }

  /** Removes the positions of publishers that are gone, a few topics per turn. */
  #removePositions(numbers: ReadonlySet<number>): void {
    const topics = this.#topics.values();
    const turn = (): void => {
      for (let count = 0; count < TOPICS_PER_TURN; count++) {
        const next = topics.next();
        if (next.done) return;
        next.value.positions.remove(numbers);
      }
      this.#clock.setTimeout(turn, TURN_EVERY_MS);
    };
    turn();
  }

  /** The message cannot be read. It may have been meant for the subscribers, so it counts as missed. */
  #refuse(topic: Topic): void {
    this.#counts.refused++;
    if (this.#counts.refused === 1) {
      console.warn(
        `[halyard] The ${this.#name} dropped a message on topic "${topic.name}": it is too large, or another application sent it. Give every application its own prefix. Further messages are only counted, in status.refused.`,
      );
    }
    this.#missed(topic);
  }

  #missed(topic: Topic): void {
    this.#counts.gaps++;
    this.#gaps.remove(topic);
    announce(topic);
  }

  // --- outages ---

  lost(names: Iterable<string>, reason: string): void {
    const topics: Topic[] = [];
    for (const name of names) {
      const topic = this.#topics.get(name);
      if (topic === undefined || topic.isLost) continue;
      topic.isLost = true;
      topics.push(topic);
    }
    if (topics.length === 0) return;
    console.warn(
      `[halyard] The ${this.#name} lost ${topics.length} of ${this.#topics.size} subscriptions: ${reason}. Subscribers may miss messages until they are restored.`,
    );
    this.#clock.setTimeout(() => {
      this.#announce(topics.filter((topic) => topic.isLost && topic.subscribers.size > 0));
    }, GRACE_MS);
  }

  restored(names: Iterable<string>): void {
    const now = this.#clock.now();
    const topics: Topic[] = [];
    for (const name of names) {
      const topic = this.#topics.get(name);
      if (!topic?.isLost) continue;
      topic.restored(now);
      topics.push(topic);
    }
    if (topics.length === 0) return;
    this.#logRestored(topics.length);
    this.#announce(topics);
  }

  /** One line for all that are restored within `GRACE_MS`: a cluster restores them in parts. */
  #logRestored(count: number): void {
    this.#restoredCount += count;
    if (this.#restoredCount > count) return;
    this.#clock.setTimeout(() => {
      console.info(`[halyard] The ${this.#name} restored ${this.#restoredCount} subscriptions.`);
      this.#restoredCount = 0;
    }, GRACE_MS);
  }

  /** Announces gaps: one call per subscriber when every topic is affected, else one call per topic, spread over 1.5 s. */
  #announce(topics: readonly Topic[]): void {
    if (topics.length === 0 || this.#isClosed) return;
    this.#counts.gaps++;
    if (topics.length < this.#topics.size) {
      this.#gaps.add(topics);
      return;
    }
    this.#gaps.clear();
    const subscribers = new Set<Subscriber>();
    for (const topic of topics) for (const subscriber of topic.subscribers) subscribers.add(subscriber);
    for (const subscriber of subscribers) subscriber.missed?.(undefined);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#topics.clear();
    this.#gaps.clear();
    this.#marks.stop();
    this.#heartbeats.stop();
    await this.#transport.close();
  }
}

function announce(topic: Topic): void {
  for (const subscriber of topic.subscribers) subscriber.missed?.(topic.name);
}
