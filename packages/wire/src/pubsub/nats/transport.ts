/** The transport over a NATS connection that the application opened and owns. */
import { ignore, within } from "@halyard/base";
import { SelfPing } from "../self-ping.ts";
import { HEARTBEATS, type Transport, type TransportEvents, type TransportSettings } from "../transport.ts";
import { type NatsConnection, type NatsSubscription, publishUnlessDraining } from "./connection.ts";
import { NatsPropagation } from "./propagation.ts";

interface TopicSubscription {
  readonly subscription: NatsSubscription;
  /** Why the server refused it. */
  refusal: Error | undefined;
}

export interface NatsTransportOptions extends TransportSettings {
  readonly connection: NatsConnection;
}

export class NatsTransport implements Transport {
  readonly #options: NatsTransportOptions;
  readonly #connection: NatsConnection;
  readonly #events: TransportEvents;
  readonly #topics = new Map<string, TopicSubscription>();
  readonly #ping: SelfPing;
  #pings: NatsSubscription | undefined;
  /** What the server sends when a probe has no subscriber. */
  #refusals: NatsSubscription | undefined;
  #probes = 0;
  readonly #refused = new Set<string>();
  /** Set when NATS is a cluster. */
  #propagation: NatsPropagation | undefined;
  #status: { stop?(): void } | undefined;
  #isUp = true;
  #lostAt = 0;
  /** Counts disconnects and reconnects; a reconnect is ignored when another change followed it. */
  #changes = 0;
  /** The running flush, and the next one, which covers everything sent in the meantime. */
  #flushing: Promise<void> = Promise.resolve();
  #nextFlush: Promise<void> | undefined;

  constructor(options: NatsTransportOptions, events: TransportEvents) {
    this.#options = options;
    this.#connection = options.connection;
    this.#events = events;
    const subject = `${options.prefix}p.${options.id}`;
    this.#ping = new SelfPing(
      options.clock,
      (ping) => {
        publishUnlessDraining(this.#connection, subject, ping);
      },
      () => void this.#connection.reconnect().catch(ignore),
    );
  }

  get isConnected(): boolean {
    return this.#isUp && !this.#connection.isClosed();
  }

  get maxMessageBytes(): number | undefined {
    return this.#connection.info?.max_payload;
  }

  async subscribe(topic: string): Promise<void> {
    this.#start();
    if (!this.isConnected) throw new Error("there is no connection to NATS");
    const subscription = this.#connection.subscribe(this.#subject(topic), {
      callback: (error, message) => {
        if (error !== null) entry.refusal = error;
        else if (this.#topics.get(topic) === entry) this.#events.received(topic, message.string());
      },
    });
    const entry: TopicSubscription = { subscription, refusal: undefined };
    this.#topics.set(topic, entry);
    try {
      await this.#confirmed();
      if (entry.refusal !== undefined) throw entry.refusal;
      await this.#propagation?.whenPropagated();
    } catch (error) {
      this.#remove(topic, entry);
      throw error;
    }
  }

  async unsubscribe(topic: string): Promise<void> {
    const entry = this.#topics.get(topic);
    if (entry !== undefined) this.#remove(topic, entry);
  }

  publish(topic: string, message: string): Promise<unknown> {
    this.#start();
    if (!this.isConnected) return Promise.reject(new Error("there is no connection to NATS"));
    try {
      this.#connection.publish(this.#subject(topic), message);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#flushed();
  }

  /** The server's refusal arrives before its reply to the ping that follows. */
  async probe(topic: string, message: string): Promise<boolean> {
    this.#start();
    if (!this.isConnected) throw new Error("there is no connection to NATS");
    const subject = `${this.#options.prefix}n.${this.#options.id}`;
    this.#refusals ??= this.#connection.subscribe(`${subject}.*`, {
      callback: (_, refusal) => this.#refused.add(refusal.subject),
    });
    const reply = `${subject}.${++this.#probes}`;
    this.#connection.publish(this.#subject(topic), message, { reply });
    await this.#flushed();
    return !this.#refused.delete(reply);
  }

  async close(): Promise<void> {
    this.#ping.stop();
    this.#status?.stop?.();
    this.#propagation?.close();
    this.#pings?.unsubscribe();
    this.#refusals?.unsubscribe();
    for (const [topic, entry] of this.#topics) this.#remove(topic, entry);
  }

  #remove(topic: string, entry: TopicSubscription): void {
    if (this.#topics.get(topic) === entry) this.#topics.delete(topic);
    // On a closed connection, `unsubscribe` would throw.
    if (!this.#connection.isClosed()) entry.subscription.unsubscribe();
  }

  /** Escapes characters with a meaning in subjects (dots, stars, spaces); the empty topic is a single "%". */
  #subject(topic: string): string {
    if (topic === HEARTBEATS) return `${this.#options.prefix}h`;
    const name = encodeURIComponent(topic).replaceAll(".", "%2E").replaceAll("*", "%2A");
    return `${this.#options.prefix}t.${name === "" ? "%" : name}`;
  }

  /** NATS does not confirm messages, but its reply to a ping confirms everything sent before the ping. */
  #flushed(): Promise<void> {
    this.#nextFlush ??= this.#flushing.catch(ignore).then(() => {
      this.#nextFlush = undefined;
      this.#flushing = this.#connection.flush();
      return this.#flushing;
    });
    return this.#nextFlush;
  }

  #confirmed(): Promise<void> {
    const { clock, replyTimeoutMs } = this.#options;
    const message = `a reply from NATS took longer than ${replyTimeoutMs} ms`;
    return within(this.#flushed(), replyTimeoutMs, message, { clock });
  }

  // --- the connection ---

  #start(): void {
    if (this.#status !== undefined || this.#connection.isClosed()) return;
    const status = this.#connection.status();
    this.#status = status as { stop?(): void };
    if (!this.#options.onlyPublishes) this.#listen();
    this.#watch(status).catch(ignore);
    this.#connection
      .closed()
      .then(
        () => this.#down("the NATS connection is closed; create a new one, and set maxReconnectAttempts: -1"),
        ignore,
      );
  }

  #listen(): void {
    this.#pings = this.#connection.subscribe(`${this.#options.prefix}p.${this.#options.id}`, {
      callback: (_, message) => this.#ping.received(message.string()),
    });
    if (this.#connection.info?.cluster !== undefined) this.#propagation = new NatsPropagation(this.#options);
    this.#ping.start();
  }

  async #watch(status: AsyncIterable<{ readonly type: string }>): Promise<void> {
    for await (const { type } of status) {
      if (type === "disconnect") this.#down("the connection to NATS was lost");
      if (type === "reconnect") void this.#up().catch(ignore);
    }
  }

  #down(reason: string): void {
    this.#changes++;
    if (!this.#isUp) return;
    this.#isUp = false;
    this.#lostAt = this.#options.clock.now();
    this.#ping.stop();
    this.#events.lost(this.#topics.keys(), reason);
  }

  /** The NATS client has resubscribed; the reply to a ping proves that the server has the subscriptions. */
  async #up(): Promise<void> {
    const change = ++this.#changes;
    try {
      await this.#confirmed();
    } catch {
      // Either the connection is lost again and the next reconnect calls this method, or it is stuck and must be replaced.
      if (change === this.#changes) await this.#connection.reconnect().catch(ignore);
      return;
    }
    await this.#propagation?.whenPropagated();
    if (change !== this.#changes) return;
    if (this.#pings !== undefined) this.#ping.start();
    // The loss came before the transport watched the connection, so it was not reported.
    if (this.#isUp) return;
    this.#isUp = true;
    this.#events.restored(this.#topics.keys());
    this.#events.resumed(this.#lostAt);
  }
}
