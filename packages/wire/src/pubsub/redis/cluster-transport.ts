/** The transport over a Redis Cluster: connects to each node that holds a channel in use, and follows channels when their slots move. */
import { pause, within } from "@halyard/base";
import type { ScriptCall } from "@halyard/base/redis";
import { KeyedQueue } from "../keyed-queue.ts";
import type { Transport, TransportEvents, TransportSettings } from "../transport.ts";
import { slotOf } from "./channel-slot.ts";
import { topicChannel, topicOf, topicsOf } from "./channels.ts";
import type { RedisAddress, RedisSource } from "./connection.ts";
import { isMoved, RedisConnectionPair } from "./connection-pair.ts";
import { RedisLogs } from "./logs.ts";
import { askedAddress, isRefusal } from "./script.ts";
import { addressName, type SlotRange, SlotTable } from "./slot-table.ts";

const REFRESH_EVERY_MS = 1_000;
/** How many channels are moved to another node, or compared with a new slot table, in one turn of the event loop. */
const CHANNELS_PER_TURN = 500;
const COMPARED_PER_TURN = 10_000;
/** Names tried to find a channel in one of a node's slots; a node with a single slot is found with a probability of 99.8 %. */
const MAX_NAMES = 100_000;
/** The pause before a script is sent again while the keys of its slot are being moved. */
const TRY_AGAIN_AFTER_MS = 25;

export interface RedisClusterOptions extends TransportSettings {
  readonly subscriberSource: RedisSource;
  readonly publisherSource: RedisSource;
  /** Whether a restarted node has every frame of the history. */
  readonly durable: boolean;
}

/** Where a channel is subscribed. */
interface Place {
  readonly slot: number;
  /** The address of the node. */
  address: string;
}

export class RedisClusterTransport implements Transport {
  readonly logs: RedisLogs;
  readonly #options: RedisClusterOptions;
  readonly #events: TransportEvents;
  readonly #queue = new KeyedQueue();
  readonly #nodes = new Map<string, RedisConnectionPair>();
  readonly #places = new Map<string, Place>();
  /** Channels whose node no longer has their slot; they receive nothing until they are subscribed elsewhere. */
  readonly #misplaced = new Set<string>();
  /** Misplaced channels that are being subscribed at another node. */
  readonly #moving = new Set<string>();
  #table: SlotTable | undefined;
  /** Whether not all channels have been compared with the table yet. */
  #isComparing = false;
  #refreshing: Promise<SlotTable> | undefined;
  #timer: unknown;
  #isClosed = false;

  constructor(options: RedisClusterOptions, events: TransportEvents) {
    this.#options = options;
    this.#events = events;
    this.logs = new RedisLogs({
      prefix: options.prefix,
      durable: options.durable,
      isSharded: true,
      run: (topic, call) => this.#run(topic, call),
    });
  }

  get isConnected(): boolean {
    if (this.#table === undefined || this.#isComparing || this.#misplaced.size > 0) return false;
    return [...this.#nodes.values()].every((node) => node.isConnected);
  }

  subscribe(topic: string): Promise<void> {
    const channel = topicChannel(this.#options.prefix, topic);
    return this.#queue.run(channel, async () => {
      const table = this.#table ?? (await this.#refreshSlots());
      try {
        await this.#place(channel, table);
      } catch (error) {
        if (!isMoved(error)) throw error;
        await this.#place(channel, await this.#refreshSlots());
      }
    });
  }

  unsubscribe(topic: string): Promise<void> {
    const channel = topicChannel(this.#options.prefix, topic);
    return this.#queue.run(channel, async () => {
      const place = this.#places.get(channel);
      this.#places.delete(channel);
      this.#misplaced.delete(channel);
      if (place !== undefined) await this.#nodes.get(place.address)?.unsubscribe(channel);
    });
  }

  publish(topic: string, message: string): Promise<unknown> {
    const channel = topicChannel(this.#options.prefix, topic);
    const table = this.#table;
    if (table === undefined)
      return this.#refreshSlots().then((slots) => this.#publish(channel, message, slots));
    return this.#publish(channel, message, table);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.clock.clearTimeout(this.#timer);
    for (const node of this.#nodes.values()) node.close();
    this.#nodes.clear();
    this.#places.clear();
    this.#misplaced.clear();
  }

  async #publish(channel: string, message: string, table: SlotTable): Promise<unknown> {
    try {
      return await this.#nodeOf(slotOf(channel), table).node.publish(channel, message);
    } catch (error) {
      // The node refused the message, so it can be published again at the right node.
      if (!isMoved(error)) throw error;
      return this.#nodeOf(slotOf(channel), await this.#refreshSlots()).node.publish(channel, message);
    }
  }

  /** Runs a script at the node with the topic's slot. A node that refuses it has not run it, so it is sent again. */
  async #run(topic: string, call: ScriptCall): Promise<unknown> {
    const { prefix, clock, replyTimeoutMs } = this.#options;
    const slot = slotOf(topicChannel(prefix, topic));
    const giveUpAt = clock.now() + replyTimeoutMs;
    let table = this.#table ?? (await this.#refreshSlots());
    let asked: RedisAddress | undefined;
    for (;;) {
      try {
        if (asked === undefined) return await this.#nodeOf(slot, table).node.run(call);
        return await this.#nodeAt(asked).run(call, true);
      } catch (error) {
        if (clock.now() > giveUpAt || !isRefusal(error)) throw error;
        asked = askedAddress(error);
        if (isMoved(error)) table = await this.#refreshSlots();
        else if (asked === undefined) await pause(clock, TRY_AGAIN_AFTER_MS);
      }
    }
  }

  // --- where channels are subscribed ---

  async #place(channel: string, table: SlotTable): Promise<void> {
    const slot = slotOf(channel);
    const { address, node } = this.#nodeOf(slot, table);
    const before = this.#places.get(channel);
    const place = { slot, address };
    this.#places.set(channel, place);
    if (before !== undefined && before.address !== address)
      await this.#nodes.get(before.address)?.unsubscribe(channel);
    try {
      await node.subscribe(channel);
    } catch (error) {
      if (this.#places.get(channel) === place) this.#places.delete(channel);
      throw error;
    }
  }

  #nodeOf(slot: number, table: SlotTable): { readonly address: string; readonly node: RedisConnectionPair } {
    if (this.#isClosed) throw new Error("the pub/sub was closed with close()");
    const range = table.find(slot);
    if (range === undefined) throw new Error("no node of the Redis Cluster serves the slot of this channel");
    return { address: range.address, node: this.#nodeAt(range.node) };
  }

  #nodeAt(address: RedisAddress): RedisConnectionPair {
    if (this.#isClosed) throw new Error("the pub/sub was closed with close()");
    const name = addressName(address);
    const existing = this.#nodes.get(name);
    if (existing !== undefined) return existing;
    const node = this.#connect(name, address);
    this.#nodes.set(name, node);
    return node;
  }

  #connect(address: string, node: RedisAddress): RedisConnectionPair {
    const { prefix, subscriberSource, publisherSource, clock, replyTimeoutMs, onlyPublishes } = this.#options;
    return new RedisConnectionPair(
      {
        openSubscriber: (listener) => subscriberSource.open(listener, node),
        openPublisher: (listener) => publisherSource.open(listener, node),
        isSharded: true,
        pingChannel: () => this.#pingChannel(address),
        clock,
        replyTimeoutMs,
        onlyPublishes,
      },
      {
        received: (channel, message) => this.#events.received(topicOf(prefix, channel), message),
        lost: (channels, reason) => {
          this.#events.lost(topicsOf(prefix, channels), `${address}: ${reason}`);
          this.#refreshSlotsSoon();
        },
        restored: (channels) => this.#events.restored(topicsOf(prefix, channels)),
        resumed: (lostAt) => this.#events.resumed(lostAt, (topic) => this.#addressOf(topic) === address),
        misplaced: (channels) => {
          for (const channel of channels) if (this.#places.has(channel)) this.#misplaced.add(channel);
          this.#events.lost(topicsOf(prefix, channels), `${address} no longer serves their slots`);
          this.#refreshSlotsSoon();
        },
      },
    );
  }

  /** The address of the node that has the topic's slot. */
  #addressOf(topic: string): string | undefined {
    return this.#table?.find(slotOf(topicChannel(this.#options.prefix, topic)))?.address;
  }

  /** A channel name in one of the node's slots. */
  #pingChannel(address: string): string | undefined {
    const table = this.#table;
    if (!table?.addresses.has(address)) return undefined;
    for (let n = 0; n < MAX_NAMES; n++) {
      const name = `${this.#options.prefix}p:${this.#options.id}:${n}`;
      if (table.find(slotOf(name))?.address === address) return name;
    }
    return undefined;
  }

  // --- which node serves which slots ---

  #refreshSlotsSoon(): void {
    this.#refreshSlots().catch(() => undefined);
  }

  /** Reads the slot table, and moves the channels whose slots are at another node now. */
  #refreshSlots(): Promise<SlotTable> {
    this.#refreshing ??= this.#readSlots().finally(() => {
      this.#refreshing = undefined;
      this.#schedule();
    });
    return this.#refreshing;
  }

  #schedule(): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = clock.setTimeout(() => this.#refreshSlotsSoon(), REFRESH_EVERY_MS);
  }

  async #readSlots(): Promise<SlotTable> {
    const read = new SlotTable(await this.#requestSlots());
    const before = this.#table;
    if (before?.equals(read)) {
      if (this.#misplaced.size > 0) this.#move(this.#misplaced, before);
      return before;
    }
    this.#table = read;
    if (before !== undefined) this.#resumed(before, read);
    await this.#findMisplaced(read);
    if (this.#misplaced.size > 0) this.#move(this.#misplaced, read);
    for (const [address, node] of this.#nodes) {
      if (read.addresses.has(address)) continue;
      this.#nodes.delete(address);
      node.close();
    }
    return read;
  }

  /** In turns, because a process may have 100,000 channels. */
  async #findMisplaced(table: SlotTable): Promise<void> {
    let count = 0;
    this.#isComparing = true;
    for (const [channel, { slot, address }] of this.#places) {
      if (table.find(slot)?.address !== address) this.#misplaced.add(channel);
      if (++count % COMPARED_PER_TURN === 0) await pause(this.#options.clock, 0);
    }
    this.#isComparing = false;
  }

  /** Subscribers of slots that moved may use the new node already, while this process published to the old one. */
  #resumed(before: SlotTable, now: SlotTable): void {
    this.#events.resumed(this.#options.clock.now(), (topic) => {
      const slot = slotOf(topicChannel(this.#options.prefix, topic));
      return before.find(slot)?.address !== now.find(slot)?.address;
    });
  }

  /** From a connected node if one replies, else over a new connection with the application's settings. */
  async #requestSlots(): Promise<unknown> {
    const { clock, replyTimeoutMs, publisherSource, subscriberSource } = this.#options;
    for (const node of this.#nodes.values()) {
      if (!node.isConnected) continue;
      try {
        return await node.command("CLUSTER", "SLOTS");
      } catch {
        // The next node may reply.
      }
    }
    const [reply] = await within(
      Promise.all([
        publisherSource.slots(),
        subscriberSource === publisherSource ? undefined : subscriberSource.slots(),
      ]),
      replyTimeoutMs,
      `reading the slots of the Redis Cluster took longer than ${replyTimeoutMs} ms`,
      { clock },
    );
    return reply;
  }

  /** Subscribes misplaced channels at the nodes that have their slots now. */
  #move(channels: Iterable<string>, table: SlotTable): void {
    const moves = new Map<string, { readonly range: SlotRange; readonly channels: string[] }>();
    const lost: string[] = [];
    for (const channel of channels) {
      const place = this.#places.get(channel);
      if (place === undefined || this.#moving.has(channel)) continue;
      lost.push(channel);
      const range = table.find(place.slot);
      if (range === undefined) continue;
      this.#moving.add(channel);
      const move = moves.get(range.address);
      if (move === undefined) moves.set(range.address, { range, channels: [channel] });
      else move.channels.push(channel);
    }
    this.#events.lost(topicsOf(this.#options.prefix, lost), "slots moved to another node");
    for (const move of moves.values()) {
      this.#moveAll(move.range, move.channels, table)
        .catch(() => undefined)
        .finally(() => {
          for (const channel of move.channels) this.#moving.delete(channel);
        });
    }
  }

  /** What is refused or fails here stays misplaced, and is moved again after the next refresh. */
  async #moveAll(range: SlotRange, channels: readonly string[], table: SlotTable): Promise<void> {
    const { node } = this.#nodeOf(range.from, table);
    for (let at = 0; at < channels.length; at += CHANNELS_PER_TURN) {
      await this.#moveTo(range.address, node, channels.slice(at, at + CHANNELS_PER_TURN));
      await pause(this.#options.clock, 0);
    }
  }

  async #moveTo(address: string, node: RedisConnectionPair, channels: readonly string[]): Promise<void> {
    const left = new Map<string, string[]>();
    for (const channel of channels) {
      const place = this.#places.get(channel);
      if (place === undefined || place.address === address) continue;
      const here = left.get(place.address);
      if (here === undefined) left.set(place.address, [channel]);
      else here.push(channel);
      place.address = address;
    }
    for (const [before, released] of left) this.#nodes.get(before)?.release(released);
    const refused = await node.adopt(channels);
    // A channel that was unsubscribed, or moved on, in the meantime is not restored.
    const restored = channels.filter((channel) => {
      const place = this.#places.get(channel);
      if (place?.address !== address || refused.has(channel)) return false;
      return this.#table?.find(place.slot)?.address === address;
    });
    for (const channel of restored) this.#misplaced.delete(channel);
    this.#events.restored(topicsOf(this.#options.prefix, restored));
  }
}
