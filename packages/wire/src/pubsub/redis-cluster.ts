/** A Redis Cluster as a transport: a link to each node whose slots hold our channels, moved when the slots move. */
import type { Clock } from "../router/clock.ts";
import type { RedisSource } from "./redis-connection.ts";
import { isMoved, RedisLink } from "./redis-link.ts";
import { slotOf } from "./redis-slot.ts";
import { type SlotRange, SlotTable } from "./redis-slots.ts";
import { topicChannel, topicsOf } from "./redis-transport.ts";
import type { Transport, TransportEvents } from "./transport.ts";
import { Turns } from "./turns.ts";
import { within } from "./waits.ts";

const LOOK_EVERY_MS = 1_000;
/** Tries to name a channel that a node has a slot for; by chance one in a hundred thousand nodes is not found. */
const MAX_NAMES = 100_000;

export interface RedisClusterOptions {
  readonly listening: RedisSource;
  readonly speaking: RedisSource;
  readonly prefix: string;
  /** Names this process on the broker. */
  readonly id: string;
  readonly clock: Clock;
  readonly replyTimeoutMs: number;
}

export class RedisClusterTransport implements Transport {
  readonly #options: RedisClusterOptions;
  readonly #events: TransportEvents;
  readonly #turns = new Turns();
  readonly #links = new Map<string, RedisLink>();
  /** Which node each channel is subscribed at. */
  readonly #places = new Map<string, string>();
  /** Channels that are not heard where they are, until they are placed again. */
  readonly #misplaced = new Set<string>();
  /** Those of them that are on their way. */
  readonly #moving = new Set<string>();
  #table: SlotTable | undefined;
  #looking: Promise<SlotTable> | undefined;
  #timer: unknown;
  #isClosed = false;

  constructor(options: RedisClusterOptions, events: TransportEvents) {
    this.#options = options;
    this.#events = events;
  }

  get isConnected(): boolean {
    if (this.#table === undefined || this.#misplaced.size > 0) return false;
    return [...this.#links.values()].every((link) => link.isConnected);
  }

  subscribe(topic: string): Promise<void> {
    const channel = topicChannel(this.#options.prefix, topic);
    return this.#turns.take(channel, async () => {
      const table = this.#table ?? (await this.#look());
      try {
        await this.#place(channel, table);
      } catch (error) {
        if (!isMoved(error)) throw error;
        await this.#place(channel, await this.#look());
      }
    });
  }

  unsubscribe(topic: string): Promise<void> {
    const channel = topicChannel(this.#options.prefix, topic);
    return this.#turns.take(channel, async () => {
      const address = this.#places.get(channel);
      this.#places.delete(channel);
      this.#misplaced.delete(channel);
      if (address !== undefined) await this.#links.get(address)?.unsubscribe(channel);
    });
  }

  publish(topic: string, message: string): Promise<unknown> {
    const channel = topicChannel(this.#options.prefix, topic);
    const table = this.#table;
    if (table === undefined) return this.#look().then((found) => this.#publish(channel, message, found));
    return this.#publish(channel, message, table);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.clock.clearTimeout(this.#timer);
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
    this.#places.clear();
    this.#misplaced.clear();
  }

  async #publish(channel: string, message: string, table: SlotTable): Promise<unknown> {
    try {
      return await this.#linkOf(channel, table).link.publish(channel, message);
    } catch (error) {
      // Refused, and so not published: once more where it belongs.
      if (!isMoved(error)) throw error;
      return this.#linkOf(channel, await this.#look()).link.publish(channel, message);
    }
  }

  // --- places ---

  async #place(channel: string, table: SlotTable): Promise<void> {
    const { address, link } = this.#linkOf(channel, table);
    const before = this.#places.get(channel);
    this.#places.set(channel, address);
    if (before !== undefined && before !== address) await this.#links.get(before)?.unsubscribe(channel);
    try {
      await link.subscribe(channel);
    } catch (error) {
      if (this.#places.get(channel) === address) this.#places.delete(channel);
      throw error;
    }
  }

  #linkOf(channel: string, table: SlotTable): { readonly address: string; readonly link: RedisLink } {
    if (this.#isClosed) throw new Error("it is closed");
    const range = table.find(slotOf(channel));
    if (range === undefined) throw new Error("no node of the cluster has the slot of this channel");
    const known = this.#links.get(range.address);
    if (known !== undefined) return { address: range.address, link: known };
    const link = this.#connect(range);
    this.#links.set(range.address, link);
    return { address: range.address, link };
  }

  #connect({ address, node }: SlotRange): RedisLink {
    const { prefix, listening, speaking, clock, replyTimeoutMs } = this.#options;
    const { length } = topicChannel(prefix, "");
    return new RedisLink(
      {
        listen: (heard) => listening.open(heard, node),
        speak: (heard) => speaking.open(heard, node),
        isSharded: true,
        pingChannel: () => this.#pingChannel(address),
        clock,
        replyTimeoutMs,
      },
      {
        heard: (channel, message) => this.#events.heard(channel.slice(length), message),
        lost: (channels, reason) => {
          this.#events.lost(topicsOf(prefix, channels), `${address}: ${reason}`);
          this.#lookSoon();
        },
        restored: (channels) => this.#events.restored(topicsOf(prefix, channels)),
        resumed: (lostAt) => this.#events.resumed(lostAt),
        misplaced: (channels) => {
          for (const channel of channels) if (this.#places.has(channel)) this.#misplaced.add(channel);
          this.#events.lost(topicsOf(prefix, channels), `${address} does not have their slots any more`);
          this.#lookSoon();
        },
      },
    );
  }

  /** A name that falls into one of the node's slots. */
  #pingChannel(address: string): string | undefined {
    const table = this.#table;
    if (!table?.addresses.has(address)) return undefined;
    for (let n = 0; n < MAX_NAMES; n++) {
      const name = `${this.#options.prefix}p:${this.#options.id}:${n}`;
      if (table.find(slotOf(name))?.address === address) return name;
    }
    return undefined;
  }

  // --- who has what ---

  #lookSoon(): void {
    this.#look().catch(() => undefined);
  }

  /** Asks the cluster who has which slots, and moves what is elsewhere now. */
  #look(): Promise<SlotTable> {
    this.#looking ??= this.#ask().finally(() => {
      this.#looking = undefined;
      this.#schedule();
    });
    return this.#looking;
  }

  #schedule(): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = clock.setTimeout(() => this.#lookSoon(), LOOK_EVERY_MS);
  }

  async #ask(): Promise<SlotTable> {
    const table = new SlotTable(await this.#reply());
    this.#table = table;
    for (const [channel, address] of this.#places) {
      if (table.find(slotOf(channel))?.address === address && !this.#misplaced.has(channel)) continue;
      this.#move(channel, table);
    }
    for (const [address, link] of this.#links) {
      if (table.addresses.has(address) || [...this.#places.values()].includes(address)) continue;
      this.#links.delete(address);
      link.close();
    }
    return table;
  }

  /** The first node that answers; when none of ours does, whichever the application's settings lead to. */
  async #reply(): Promise<unknown> {
    const { clock, replyTimeoutMs, speaking, listening } = this.#options;
    for (const link of this.#links.values()) {
      if (!link.isConnected) continue;
      try {
        return await link.command("CLUSTER", "SLOTS");
      } catch {
        // The next one may answer.
      }
    }
    const [reply] = await within(
      clock,
      replyTimeoutMs,
      "asking the cluster for its slots",
      Promise.all([speaking.slots(), listening === speaking ? undefined : listening.slots()]),
    );
    return reply;
  }

  #move(channel: string, table: SlotTable): void {
    this.#misplaced.add(channel);
    if (this.#moving.has(channel)) return;
    const topics = [...topicsOf(this.#options.prefix, [channel])];
    this.#events.lost(topics, "a slot has moved to another node");
    this.#moving.add(channel);
    this.#turns
      .take(channel, async () => {
        if (!this.#places.has(channel)) return;
        const before = this.#places.get(channel);
        await this.#place(channel, table).catch((error: unknown) => {
          // Tried again with the next look, as long as somebody wants it.
          if (before !== undefined) this.#places.set(channel, before);
          throw error;
        });
        this.#misplaced.delete(channel);
        this.#events.restored(topics);
      })
      .catch(() => undefined)
      .finally(() => this.#moving.delete(channel));
  }
}
