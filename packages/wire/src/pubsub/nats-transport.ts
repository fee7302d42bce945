/** NATS as a transport, over a connection that the application made and keeps. */
import type { Clock } from "../router/clock.ts";
import { NatsReach } from "./nats-reach.ts";
import { SelfPing } from "./self-ping.ts";
import type { Transport, TransportEvents } from "./transport.ts";
import { within } from "./waits.ts";

/** The members of a NATS connection that are used here. */
export interface NatsConnection {
  /** What the server says of itself. */
  readonly info?:
    | { readonly server_id: string; readonly max_payload?: number; readonly cluster?: string | undefined }
    | undefined;
  publish(subject: string, payload: string): void;
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: { string(): string }) => void },
  ): NatsSubscription;
  /** Resolves when the server has answered a ping sent now, and so has everything sent before. */
  flush(): Promise<void>;
  /** Tells of lost and restored links. */
  status(): AsyncIterable<{ readonly type: string }>;
  closed(): Promise<unknown>;
  isClosed(): boolean;
  reconnect(): Promise<void>;
}

export interface NatsSubscription {
  unsubscribe(): void;
}

interface Listening {
  readonly subscription: NatsSubscription;
  refusal: Error | undefined;
}

export interface NatsTransportOptions {
  readonly connection: NatsConnection;
  readonly prefix: string;
  /** Names this process on the broker. */
  readonly id: string;
  readonly clock: Clock;
  readonly replyTimeoutMs: number;
}

export class NatsTransport implements Transport {
  readonly #options: NatsTransportOptions;
  readonly #connection: NatsConnection;
  readonly #events: TransportEvents;
  readonly #topics = new Map<string, Listening>();
  readonly #ping: SelfPing;
  #pings: NatsSubscription | undefined;
  /** Where there are several servers. */
  #reach: NatsReach | undefined;
  #status: { stop?(): void } | undefined;
  #isUp = true;
  #lostAt = 0;
  /** Counts losses and returns of the link, so that a return that was overtaken is known. */
  #changes = 0;
  /** The flush under way, and the one that follows it for all that was sent meanwhile. */
  #flushing: Promise<void> = Promise.resolve();
  #nextFlush: Promise<void> | undefined;

  constructor(options: NatsTransportOptions, events: TransportEvents) {
    this.#options = options;
    this.#connection = options.connection;
    this.#events = events;
    const subject = `${options.prefix}p.${options.id}`;
    this.#ping = new SelfPing(
      options.clock,
      (word) => {
        if (!this.#connection.isClosed()) this.#connection.publish(subject, word);
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
    if (!this.isConnected) throw new Error("the connection to NATS is lost");
    const subscription = this.#connection.subscribe(this.#subject(topic), {
      callback: (error, message) => {
        if (error !== null) listening.refusal = error;
        else if (this.#topics.get(topic) === listening) this.#events.heard(topic, message.string());
      },
    });
    const listening: Listening = { subscription, refusal: undefined };
    this.#topics.set(topic, listening);
    try {
      await this.#confirmed();
      if (listening.refusal !== undefined) throw listening.refusal;
      await this.#reach?.spread();
    } catch (error) {
      this.#forget(topic, listening);
      throw error;
    }
  }

  async unsubscribe(topic: string): Promise<void> {
    const listening = this.#topics.get(topic);
    if (listening !== undefined) this.#forget(topic, listening);
  }

  publish(topic: string, message: string): Promise<unknown> {
    this.#start();
    if (!this.isConnected) return Promise.reject(new Error("the connection to NATS is lost"));
    try {
      this.#connection.publish(this.#subject(topic), message);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#flushed();
  }

  async close(): Promise<void> {
    this.#ping.stop();
    this.#status?.stop?.();
    this.#reach?.close();
    this.#pings?.unsubscribe();
    for (const [topic, listening] of this.#topics) this.#forget(topic, listening);
  }

  #forget(topic: string, listening: Listening): void {
    if (this.#topics.get(topic) === listening) this.#topics.delete(topic);
    // A closed connection has nothing to unsubscribe from, and says so with an error.
    if (!this.#connection.isClosed()) listening.subscription.unsubscribe();
  }

  /** What has a meaning in subjects (dots, stars, spaces) is escaped; the empty topic is a lone escape character. */
  #subject(topic: string): string {
    const name = encodeURIComponent(topic).replaceAll(".", "%2E").replaceAll("*", "%2A");
    return `${this.#options.prefix}t.${name === "" ? "%" : name}`;
  }

  /** NATS confirms nothing by itself: an answered ping does, and one is enough for all that was sent before it. */
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
    return within(clock, replyTimeoutMs, "the reply of NATS", this.#flushed());
  }

  // --- the link ---

  #start(): void {
    if (this.#status !== undefined || this.#connection.isClosed()) return;
    const status = this.#connection.status();
    this.#status = status as { stop?(): void };
    this.#pings = this.#connection.subscribe(`${this.#options.prefix}p.${this.#options.id}`, {
      callback: (_, message) => this.#ping.heard(message.string()),
    });
    if (this.#connection.info?.cluster !== undefined) this.#reach = new NatsReach(this.#options);
    this.#ping.start();
    this.#watch(status).catch(ignore);
    this.#connection
      .closed()
      .then(
        () => this.#down("the connection to NATS is closed and stays so; see maxReconnectAttempts"),
        ignore,
      );
  }

  async #watch(status: AsyncIterable<{ readonly type: string }>): Promise<void> {
    for await (const { type } of status) {
      if (type === "disconnect") this.#down("the connection to NATS was lost");
      if (type === "reconnect") void this.#up();
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

  /** The client has sent its subscriptions again; a ping that is answered proves that the server has them. */
  async #up(): Promise<void> {
    const change = ++this.#changes;
    try {
      await this.#confirmed();
    } catch {
      // Lost again, and then the next reconnection comes here, too; or it stands and nothing comes.
      if (change === this.#changes) await this.#connection.reconnect().catch(ignore);
      return;
    }
    await this.#reach?.spread();
    if (change !== this.#changes) return;
    this.#ping.start();
    // Its loss was not told, because nobody was listening yet.
    if (this.#isUp) return;
    this.#isUp = true;
    this.#events.restored(this.#topics.keys());
    this.#events.resumed(this.#lostAt);
  }
}

function ignore(): void {}
