/** Our two connections to one Redis server, for listening and for publishing: kept open, tested, and subscribed again. */
import type { Clock } from "../router/clock.ts";
import { Keeper } from "./keeper.ts";
import type { Heard, RedisConnection } from "./redis-connection.ts";
import { SelfPing } from "./self-ping.ts";
import { Turns } from "./turns.ts";
import { messageOf, within } from "./waits.ts";

/** So many are asked for before an answer is awaited: each answer has its time. */
const CHANNELS_AT_ONCE = 500;

export interface LinkOptions {
  readonly listen: (heard: Heard) => Promise<RedisConnection>;
  readonly speak: (heard: Heard) => Promise<RedisConnection>;
  readonly isSharded: boolean;
  /** A channel that this server has now and nobody else uses; none where the server has no slot for one. */
  pingChannel(): string | undefined;
  readonly clock: Clock;
  readonly replyTimeoutMs: number;
}

export interface LinkEvents {
  heard(channel: string, message: string): void;
  lost(channels: Iterable<string>, reason: string): void;
  restored(channels: Iterable<string>): void;
  /** The connection for publishing, lost at that time, is back. */
  resumed(lostAt: number): void;
  /** The server does not have these channels any more. */
  misplaced(channels: readonly string[]): void;
}

export class RedisLink {
  readonly #options: LinkOptions;
  readonly #events: LinkEvents;
  readonly #listening: Keeper<RedisConnection>;
  readonly #speaking: Keeper<RedisConnection>;
  readonly #ping: SelfPing;
  #pingChannel: string | undefined;
  readonly #turns = new Turns();
  /** What is to be heard. The value is another one for each call of `subscribe`. */
  readonly #wanted = new Map<string, object>();
  /** What the server has confirmed on the current connection. */
  #confirmed = new Set<string>();

  constructor(options: LinkOptions, events: LinkEvents) {
    const { clock, isSharded } = options;
    this.#options = options;
    this.#events = events;
    this.#listening = new Keeper(
      () => this.#listen(),
      { up: () => this.#heardAgain(), down: (reason) => this.#heardNoMore(reason) },
      clock,
    );
    let lostAt: number | undefined;
    this.#speaking = new Keeper(
      () => within(clock, options.replyTimeoutMs, "connecting", options.speak(ignore), destroy),
      {
        up: () => {
          if (lostAt !== undefined) events.resumed(lostAt);
          this.#watch();
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
      (word) => {
        const channel = this.#pingChannel;
        if (channel !== undefined) this.#speaking.current?.publish(channel, word, isSharded).catch(ignore);
      },
      () => this.#renew(),
    );
  }

  get isConnected(): boolean {
    return this.#speaking.current !== undefined && this.#listening.current !== undefined;
  }

  /** Resolves when the server has confirmed the channel. */
  async subscribe(channel: string): Promise<void> {
    const call = {};
    this.#wanted.set(channel, call);
    try {
      await this.#turns.take(channel, () => this.#reconcile(channel));
    } catch (error) {
      if (this.#wanted.get(channel) === call) this.#wanted.delete(channel);
      throw error;
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#wanted.delete(channel);
    // A connection that is gone hears nothing: there is nothing to do then.
    await this.#turns.take(channel, () => this.#reconcile(channel)).catch(ignore);
  }

  publish(channel: string, message: string): Promise<unknown> {
    this.#listening.start();
    const connection = this.#speaking.current;
    if (connection !== undefined) return connection.publish(channel, message, this.#options.isSharded);
    if (this.#speaking.hasBeenUp) return Promise.reject(new Error("the connection to Redis is lost"));
    return this.#speaking
      .whenUp(this.#options.replyTimeoutMs)
      .then((first) => first.publish(channel, message, this.#options.isSharded));
  }

  async command(name: string, ...args: string[]): Promise<unknown> {
    const connection = this.#speaking.current;
    if (connection === undefined) throw new Error("the connection to Redis is lost");
    return this.#answer(connection.command(name, ...args));
  }

  close(): void {
    this.#ping.stop();
    this.#listening.stop();
    this.#speaking.stop();
  }

  // --- listening ---

  /** A connection that is subscribed to everything wanted. */
  async #listen(): Promise<RedisConnection> {
    const { clock, replyTimeoutMs, listen } = this.#options;
    // Asked for each time: a slot may have moved away since.
    const pingChannel = this.#options.pingChannel();
    const heard: Heard = (channel, message) => {
      if (channel === pingChannel) this.#ping.heard(message);
      else this.#events.heard(channel, message);
    };
    const connection = await within(clock, replyTimeoutMs, "connecting", listen(heard), destroy);
    try {
      const channels = [...this.#wanted.keys()];
      if (pingChannel !== undefined) await this.#ask(connection, [pingChannel]);
      this.#pingChannel = pingChannel;
      const refused = await this.#askForAll(connection, channels);
      this.#confirmed = new Set(channels.filter((channel) => !refused.has(channel)));
      if (refused.size > 0) this.#events.misplaced([...refused]);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  async #askForAll(connection: RedisConnection, channels: readonly string[]): Promise<Set<string>> {
    const refused = new Set<string>();
    const askForOne = (channel: string) =>
      this.#ask(connection, [channel]).catch((error: unknown) => {
        if (!isMoved(error)) throw error;
        refused.add(channel);
      });
    for (let at = 0; at < channels.length; at += CHANNELS_AT_ONCE) {
      const some = channels.slice(at, at + CHANNELS_AT_ONCE);
      await (this.#options.isSharded ? Promise.all(some.map(askForOne)) : this.#ask(connection, some));
    }
    return refused;
  }

  #ask(connection: RedisConnection, channels: readonly string[]): Promise<unknown> {
    return this.#answer(connection.subscribe(channels, this.#options.isSharded));
  }

  #answer(reply: Promise<unknown>): Promise<unknown> {
    return within(this.#options.clock, this.#options.replyTimeoutMs, "the reply of Redis", reply);
  }

  /** Makes the server's list agree with ours for one channel. */
  async #reconcile(channel: string): Promise<void> {
    if (!this.#wanted.has(channel) && this.#listening.current === undefined) return;
    const connection = await this.#listening.whenUp(this.#options.replyTimeoutMs);
    const isWanted = this.#wanted.has(channel);
    if (isWanted === this.#confirmed.has(channel)) return;
    if (!isWanted) {
      this.#confirmed.delete(channel);
      await this.#answer(connection.unsubscribe(channel, this.#options.isSharded));
      return;
    }
    await this.#ask(connection, [channel]);
    if (this.#listening.current !== connection) throw new Error("the connection to Redis was lost");
    this.#confirmed.add(channel);
  }

  #heardAgain(): void {
    this.#speaking.start();
    this.#watch();
    for (const channel of this.#confirmed) {
      if (!this.#wanted.has(channel)) void this.unsubscribe(channel);
    }
    this.#events.restored(this.#confirmed);
  }

  #heardNoMore(reason: string): void {
    this.#ping.stop();
    const channels = this.#confirmed;
    this.#confirmed = new Set();
    this.#events.lost(channels, reason);
  }

  // --- testing ---

  #watch(): void {
    if (this.isConnected && this.#pingChannel !== undefined) this.#ping.start();
  }

  /** Which of the two connections is dead is not known: both are replaced. */
  #renew(): void {
    this.#listening.current?.destroy();
    this.#speaking.current?.destroy();
  }
}

/** The channel's slot belongs to another node. */
export function isMoved(error: unknown): boolean {
  return messageOf(error).startsWith("MOVED ");
}

function destroy(connection: RedisConnection): void {
  connection.destroy();
}

function ignore(): void {}
