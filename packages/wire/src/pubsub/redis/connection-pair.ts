/** The two connections to one Redis server, one for subscriptions and one for publishing. Reconnects, tests and resubscribes them. */
import { ignore, within } from "@halyard/base";
import type { ScriptCall } from "@halyard/base/redis";
import { messageOf } from "../../protocol/error.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { Reconnector } from "../reconnector.ts";
import { SelfPing } from "../self-ping.ts";
import type { TransportSettings } from "../transport.ts";
import type { MessageListener, RedisConnection } from "./connection.ts";
import { runAsking, runScript } from "./script.ts";

/** How many channels are subscribed per reply, so that each reply arrives within the timeout. */
const CHANNELS_PER_BATCH = 500;

export interface ConnectionPairOptions
  extends Pick<TransportSettings, "clock" | "replyTimeoutMs" | "onlyPublishes"> {
  readonly openSubscriber: (listener: MessageListener) => Promise<RedisConnection>;
  readonly openPublisher: (listener: MessageListener) => Promise<RedisConnection>;
  readonly isSharded: boolean;
  /** A channel of this process alone, in a slot of this server; undefined when the server has no slot. */
  pingChannel(): string | undefined;
}

export interface ConnectionPairEvents {
  received(channel: string, message: string): void;
  lost(channels: Iterable<string>, reason: string): void;
  restored(channels: Iterable<string>): void;
  /** The connection for publishing that was lost at this monotonic time is restored. */
  resumed(lostAt: number): void;
  /** The slots of these channels have moved to another node. */
  misplaced(channels: readonly string[]): void;
}

export class RedisConnectionPair {
  readonly #options: ConnectionPairOptions;
  readonly #events: ConnectionPairEvents;
  readonly #subscriber: Reconnector<RedisConnection>;
  readonly #publisher: Reconnector<RedisConnection>;
  readonly #ping: SelfPing;
  #pingChannel: string | undefined;
  readonly #queue = new KeyedQueue();
  /** The channels to subscribe. The value identifies the call of `subscribe` that added the channel. */
  readonly #wanted = new Map<string, object>();
  /** The channels that the server has confirmed on the current connection. */
  #confirmed = new Set<string>();

  constructor(options: ConnectionPairOptions, events: ConnectionPairEvents) {
    const { clock, isSharded } = options;
    this.#options = options;
    this.#events = events;
    this.#subscriber = new Reconnector(
      () => this.#openSubscriber(),
      { up: () => this.#subscriberUp(), down: (reason) => this.#subscriberDown(reason) },
      clock,
    );
    let lostAt: number | undefined;
    this.#publisher = new Reconnector(
      () => this.#connectInTime(options.openPublisher(ignore)),
      {
        up: () => {
          if (lostAt !== undefined) events.resumed(lostAt);
          this.#startPing();
        },
        down: () => {
          lostAt = clock.now();
          this.#ping.stop();
        },
      },
      clock,
    );
    this.#ping = new SelfPing(
      clock,
      (ping) => {
        const { current } = this.#publisher;
        if (options.onlyPublishes)
          return void current?.command("PING").then(() => this.#ping.received(ping), ignore);
        const channel = this.#pingChannel;
        if (channel !== undefined) current?.publish(channel, ping, isSharded).catch(ignore);
      },
      () => this.#reconnect(),
    );
  }

  get isConnected(): boolean {
    const isListening = this.#options.onlyPublishes || this.#subscriber.current !== undefined;
    return isListening && this.#publisher.current !== undefined;
  }

  /** Resolves when the server has confirmed the channel. */
  async subscribe(channel: string): Promise<void> {
    const call = {};
    this.#wanted.set(channel, call);
    try {
      await this.#queue.run(channel, () => this.#reconcile(channel));
    } catch (error) {
      if (this.#wanted.get(channel) === call) this.#wanted.delete(channel);
      throw error;
    }
  }

  /**
   * Subscribes channels that moved here from another node, in few requests. Resolves to those that the server refused
   * because their slots have moved again. When it rejects, the next connection subscribes them.
   */
  async adopt(channels: readonly string[]): Promise<ReadonlySet<string>> {
    const call = {};
    for (const channel of channels) this.#wanted.set(channel, call);
    const connection = await this.#subscriber.whenUp(this.#options.replyTimeoutMs);
    // A connection that was opened in the meantime has subscribed them.
    const missing = channels.filter((channel) => this.#wanted.has(channel) && !this.#confirmed.has(channel));
    const refused = await this.#subscribeAll(connection, missing);
    if (this.#subscriber.current !== connection) throw new Error("the connection to Redis was lost");
    for (const channel of missing) {
      if (refused.has(channel)) continue;
      this.#confirmed.add(channel);
      if (!this.#wanted.has(channel)) void this.unsubscribe(channel);
    }
    return refused;
  }

  /** Unsubscribes channels that moved to another node. */
  release(channels: readonly string[]): void {
    for (const channel of channels) {
      this.#wanted.delete(channel);
      if (this.#confirmed.has(channel)) void this.unsubscribe(channel);
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#wanted.delete(channel);
    // Without a connection there is no subscription to remove.
    await this.#queue.run(channel, () => this.#reconcile(channel)).catch(ignore);
  }

  publish(channel: string, message: string): Promise<unknown> {
    return this.#send((connection) => connection.publish(channel, message, this.#options.isSharded));
  }

  /** Runs a script, in order with the publishes. `isAsking`: the slot of its keys is being moved to this server. */
  run(call: ScriptCall, isAsking = false): Promise<unknown> {
    return this.#send((connection) => (isAsking ? runAsking(connection, call) : runScript(connection, call)));
  }

  #send(task: (connection: RedisConnection) => Promise<unknown>): Promise<unknown> {
    if (!this.#options.onlyPublishes) this.#subscriber.start();
    const connection = this.#publisher.current;
    if (connection !== undefined) return task(connection);
    if (this.#publisher.hasBeenUp) return Promise.reject(new Error("there is no connection to Redis"));
    return this.#publisher.whenUp(this.#options.replyTimeoutMs).then(task);
  }

  async command(name: string, ...args: string[]): Promise<unknown> {
    const connection = this.#publisher.current;
    if (connection === undefined) throw new Error("there is no connection to Redis");
    return this.#replyInTime(connection.command(name, ...args));
  }

  close(): void {
    this.#ping.stop();
    this.#subscriber.stop();
    this.#publisher.stop();
  }

  // --- subscribing ---

  /** Opens a connection and subscribes it to every wanted channel. */
  async #openSubscriber(): Promise<RedisConnection> {
    const { openSubscriber } = this.#options;
    // Read for each connection: the slot may have moved since the last one.
    const pingChannel = this.#options.pingChannel();
    const listener: MessageListener = (channel, message) => {
      if (channel === pingChannel) this.#ping.received(message);
      else this.#events.received(channel, message);
    };
    const connection = await this.#connectInTime(openSubscriber(listener));
    try {
      const channels = [...this.#wanted.keys()];
      if (pingChannel !== undefined) await this.#subscribeChannels(connection, [pingChannel]);
      this.#pingChannel = pingChannel;
      const refused = await this.#subscribeAll(connection, channels);
      this.#confirmed = new Set(channels.filter((channel) => !refused.has(channel)));
      if (refused.size > 0) this.#events.misplaced([...refused]);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** Returns the channels that the server refused because their slots have moved. */
  async #subscribeAll(connection: RedisConnection, channels: readonly string[]): Promise<Set<string>> {
    const refused = new Set<string>();
    const subscribeOne = (channel: string) =>
      this.#subscribeChannels(connection, [channel]).catch((error: unknown) => {
        if (!isMoved(error)) throw error;
        refused.add(channel);
      });
    for (let at = 0; at < channels.length; at += CHANNELS_PER_BATCH) {
      const batch = channels.slice(at, at + CHANNELS_PER_BATCH);
      await (this.#options.isSharded
        ? Promise.all(batch.map(subscribeOne))
        : this.#subscribeChannels(connection, batch));
    }
    return refused;
  }

  #subscribeChannels(connection: RedisConnection, channels: readonly string[]): Promise<unknown> {
    return this.#replyInTime(connection.subscribe(channels, this.#options.isSharded));
  }

  #connectInTime(connecting: Promise<RedisConnection>): Promise<RedisConnection> {
    const { clock, replyTimeoutMs } = this.#options;
    const message = `connecting took longer than ${replyTimeoutMs} ms`;
    return within(connecting, replyTimeoutMs, message, { clock, tooLate: destroy });
  }

  #replyInTime(reply: Promise<unknown>): Promise<unknown> {
    const { clock, replyTimeoutMs } = this.#options;
    return within(reply, replyTimeoutMs, `a reply from Redis took longer than ${replyTimeoutMs} ms`, {
      clock,
    });
  }

  /** Subscribes or unsubscribes one channel on the server, whichever `#wanted` asks for. */
  async #reconcile(channel: string): Promise<void> {
    if (!this.#wanted.has(channel) && this.#subscriber.current === undefined) return;
    const connection = await this.#subscriber.whenUp(this.#options.replyTimeoutMs);
    const isWanted = this.#wanted.has(channel);
    if (isWanted === this.#confirmed.has(channel)) return;
    if (!isWanted) {
      this.#confirmed.delete(channel);
      await this.#replyInTime(connection.unsubscribe(channel, this.#options.isSharded));
      return;
    }
    await this.#subscribeChannels(connection, [channel]);
    if (this.#subscriber.current !== connection) throw new Error("the connection to Redis was lost");
    this.#confirmed.add(channel);
  }

  #subscriberUp(): void {
    this.#publisher.start();
    this.#startPing();
    for (const channel of this.#confirmed) {
      if (!this.#wanted.has(channel)) void this.unsubscribe(channel);
    }
    this.#events.restored(this.#confirmed);
  }

  #subscriberDown(reason: string): void {
    this.#ping.stop();
    const channels = this.#confirmed;
    this.#confirmed = new Set();
    this.#events.lost(channels, reason);
  }

  // --- testing the connections ---

  #startPing(): void {
    const hasTarget = this.#options.onlyPublishes || this.#pingChannel !== undefined;
    if (this.isConnected && hasTarget) this.#ping.start();
  }

  /** Replaces both connections: a lost ping does not show which of them failed. */
  #reconnect(): void {
    this.#subscriber.current?.destroy();
    this.#publisher.current?.destroy();
  }
}

/** Whether Redis refused a command because the slot belongs to another node. */
export function isMoved(error: unknown): boolean {
  return messageOf(error).startsWith("MOVED ");
}

function destroy(connection: RedisConnection): void {
  connection.destroy();
}
