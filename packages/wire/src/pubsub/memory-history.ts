/** The logs of topics within one process, bounded by frames, age and bytes. */
import { type Clock, systemClock } from "@halyard/base";
import { byteLength } from "../protocol/bytes.ts";
import { copyText } from "../protocol/copy-text.ts";
import type {
  AppendOptions,
  AppendResult,
  History,
  HistoryItem,
  HistoryPage,
  HistoryPosition,
  HistoryReadOptions,
} from "./history.ts";
import { emptyPage, epochIds, invalidAppend, MIN_KEPT_IDS, offsetOf } from "./history-rules.ts";
import { Largest, type Sized } from "./largest.ts";
import type { LocalTopics } from "./local-topics.ts";

/** Topics without frames keep their epoch, up to this many; then the one that is empty for the longest time loses it. */
const MAX_EMPTY_LOGS = 100_000;
/** Logs are examined for expired frames at most this often. */
const SWEEP_EVERY_MS = 1_000;
/** Estimated memory of a kept frame or id besides its text, in bytes. */
const ITEM_BYTES = 100;
/** An end of a call of at most this size is kept above the limit too: without one, its readers would wait. */
const MAX_SMALL_END_BYTES = 1_024;

interface Item extends HistoryItem {
  readonly bytes: number;
  /** Monotonic time in ms from which the frame is not read; with the lifetime of the topic, that of the log counts. */
  readonly expiresAt: number;
}

interface Log extends Sized {
  readonly topic: string;
  readonly epoch: string;
  top: number;
  /** Contiguous; the last one has the offset `top`. */
  items: Item[];
  hasEnded: boolean;
  /** When nothing of the topic is left; infinite when the epoch is kept. */
  endsAt: number;
  /** The offsets of the newest appends with an id, oldest first. */
  readonly ids: Map<string, number>;
  /** Memory of the frames and ids. */
  bytes: number;
}

/** The history of `memoryPubSub()`. */
export class MemoryHistory implements History {
  readonly #topics: LocalTopics;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #nextEpoch = epochIds();
  /** Logs with frames. */
  readonly #logs = new Map<string, Log>();
  /** Logs that may lose frames: all with frames, but those of running calls. */
  readonly #largest = new Largest<Log>();
  /** Logs without frames, which only hold an epoch, in the order in which they became empty. */
  readonly #empty = new Map<string, Log>();
  /** Topics to examine, by the number of the sweep in which something of them expires first. */
  readonly #due = new Map<number, Set<string>>();
  #bytes = 0;
  /** The last sweep that was made. */
  #swept = 0;
  #isSweeping = false;
  #isClosed = false;

  constructor(topics: LocalTopics, maxBytes: number, clock: Clock = systemClock) {
    this.#topics = topics;
    this.#maxBytes = maxBytes;
    this.#clock = clock;
  }

  /** Estimated memory of all kept frames and ids. */
  get bytes(): number {
    return this.#bytes;
  }

  append(topic: string, frame: string, options: AppendOptions): AppendResult {
    if (this.#isClosed) return { ok: false, error: "DISCONNECTED", retryable: false };
    const details = invalidAppend(options);
    if (details !== undefined) return { ok: false, error: "VALIDATION", retryable: false, details };
    const bytes = byteLength(frame) + ITEM_BYTES;
    if (bytes > this.#maxBytes) {
      const limit = { maxHistoryBytes: this.#maxBytes };
      return { ok: false, error: "VALIDATION", retryable: false, details: limit };
    }
    const { size, ttlMs, lifetime, id, excludeClientId, isLast = false, epoch: expected } = options;
    const now = this.#clock.now();
    const found = this.#find(topic, now);
    if (expected !== undefined && found?.epoch !== expected)
      return { ok: false, error: "EPOCH", retryable: false };
    const log = found ?? this.#create(topic);
    const repeated = id === undefined ? undefined : log.ids.get(id);
    if (repeated !== undefined)
      return { ok: true, position: { epoch: log.epoch, offset: repeated }, isRepeated: true };
    if (log.hasEnded) return { ok: false, error: "ENDED", retryable: false };
    const isTopicLifetime = lifetime === "topic";
    const isRunning = isTopicLifetime && !(isLast && bytes <= MAX_SMALL_END_BYTES);
    if (!this.#makeRoom(log, bytes + (id === undefined ? 0 : idBytesOf(id)), isRunning)) {
      const limit = { maxHistoryBytes: this.#maxBytes };
      return { ok: false, error: "FULL", retryable: false, details: limit };
    }
    const expiresAt = isTopicLifetime ? Number.POSITIVE_INFINITY : now + ttlMs;
    log.endsAt = isTopicLifetime ? now + ttlMs : Number.POSITIVE_INFINITY;
    const offset = ++log.top;
    log.hasEnded = isLast;
    log.items.push({ offset, frame, excludeClientId, bytes, expiresAt });
    this.#count(log, bytes);
    if (log.items.length === 1) {
      this.#empty.delete(log.topic);
      this.#logs.set(log.topic, log);
    }
    if (id !== undefined) this.#remember(log, id, offset, Math.max(size, MIN_KEPT_IDS));
    this.#drop(log, log.items.length - size);
    if (!isTopicLifetime || isLast) this.#largest.update(log);
    if (log.items.length === 1 || isTopicLifetime) this.#examineAt(log.topic, now + ttlMs);
    const position = { epoch: log.epoch, offset };
    const matchedLocal = this.#topics.deliver(topic, frame, excludeClientId, position);
    return { ok: true, position, isRepeated: false, matchedLocal };
  }

  read(topic: string, options: HistoryReadOptions): HistoryPage {
    const { after, last = 0, maxItems, maxBytes, create = true } = options;
    const log = this.#find(topic, this.#clock.now()) ?? (create ? this.#create(topic) : undefined);
    if (log === undefined) return emptyPage(options);
    const { epoch, top, items: kept, hasEnded } = log;
    const oldest = top - kept.length + 1;
    const isSame = after?.epoch === epoch && offsetOf(after) <= top;
    const first = after === undefined ? Math.max(oldest, top - last + 1) : isSame ? after.offset + 1 : oldest;
    const isMissing = after !== undefined && (!isSame || first < oldest);
    const items: HistoryItem[] = [];
    let bytes = 0;
    for (let at = Math.max(first, oldest) - oldest; at < kept.length; at++) {
      const item = kept[at];
      if (item === undefined || items.length >= maxItems) break;
      bytes += item.bytes - ITEM_BYTES;
      if (bytes > maxBytes && items.length > 0) break;
      items.push({ offset: item.offset, frame: item.frame, excludeClientId: item.excludeClientId });
    }
    const reached = items.at(-1)?.offset ?? Math.max(first, oldest) - 1;
    return { epoch, top, items, isMissing, hasMore: reached < top, hasEnded };
  }

  top(topic: string): HistoryPosition {
    const { epoch, top } = this.#find(topic, this.#clock.now()) ?? this.#create(topic);
    return { epoch, offset: top };
  }

  delete(topic: string): void {
    const log = this.#logs.get(topic);
    if (log !== undefined) {
      this.#drop(log, log.items.length);
      this.#forgetIds(log, log.top);
      this.#largest.remove(log);
    }
    this.#logs.delete(topic);
    this.#empty.delete(topic);
  }

  close(): void {
    this.#isClosed = true;
    this.#logs.clear();
    this.#empty.clear();
    this.#due.clear();
    this.#largest.clear();
    this.#bytes = 0;
  }

  // --- logs ---

  /** The log without what has expired. */
  #find(topic: string, now: number): Log | undefined {
    const log = this.#logs.get(topic) ?? this.#empty.get(topic);
    if (log === undefined) return undefined;
    if (log.endsAt <= now) {
      this.delete(topic);
      return undefined;
    }
    let expired = 0;
    while ((log.items[expired]?.expiresAt ?? Number.POSITIVE_INFINITY) <= now) expired++;
    this.#drop(log, expired);
    if (log.items.length === 0) this.#becomeEmpty(log);
    return log;
  }

  #create(topic: string): Log {
    const log: Log = {
      topic: copyText(topic),
      epoch: this.#nextEpoch(),
      top: 0,
      items: [],
      hasEnded: false,
      endsAt: Number.POSITIVE_INFINITY,
      ids: new Map(),
      bytes: 0,
      rank: undefined,
    };
    this.#becomeEmpty(log);
    return log;
  }

  #becomeEmpty(log: Log): void {
    this.#logs.delete(log.topic);
    this.#forgetIds(log, log.top);
    this.#largest.remove(log);
    if (this.#empty.has(log.topic)) return;
    this.#empty.set(log.topic, log);
    if (this.#empty.size <= MAX_EMPTY_LOGS) return;
    for (const oldest of this.#empty.keys()) {
      this.#empty.delete(oldest);
      break;
    }
  }

  #count(log: Log, bytes: number): void {
    this.#bytes += bytes;
    log.bytes += bytes;
    if (log.rank !== undefined) this.#largest.update(log);
  }

  #drop(log: Log, count: number): void {
    if (count <= 0) return;
    let bytes = 0;
    for (const item of log.items.splice(0, count)) bytes += item.bytes;
    this.#count(log, -bytes);
  }

  /** Remembers an id; above the limit, the oldest is dropped. */
  #remember(log: Log, id: string, offset: number, limit: number): void {
    log.ids.set(copyText(id), offset);
    this.#count(log, idBytesOf(id));
    if (log.ids.size <= limit) return;
    for (const oldest of log.ids.keys()) {
      log.ids.delete(oldest);
      this.#count(log, -idBytesOf(oldest));
      break;
    }
  }

  /** Forgets the ids of the frames up to this offset. */
  #forgetIds(log: Log, offset: number): void {
    for (const [id, at] of log.ids) {
      if (at > offset) return;
      log.ids.delete(id);
      this.#count(log, -idBytesOf(id));
    }
  }

  /**
   * Frees memory for a frame: about the largest log loses its oldest frames, and its readers learn that they are missing.
   * False when the frame is of a running call, which needs all its frames, and its log would be the largest.
   */
  #makeRoom(log: Log, bytes: number, isRunning: boolean): boolean {
    for (;;) {
      const excess = this.#bytes + bytes - this.#maxBytes;
      if (excess <= 0) return true;
      const largest = this.#largest.find();
      if (largest === undefined || (isRunning && largest.bytes < log.bytes + bytes)) return !isRunning;
      const isOwn = log.rank !== undefined && log.bytes + bytes > largest.bytes;
      this.#shrink(isOwn ? log : largest, excess);
    }
  }

  /** Drops the oldest frames with their ids, until this many bytes are free. */
  #shrink(log: Log, excess: number): void {
    // Without its first frames, a call that has ended is of no use.
    if (log.endsAt !== Number.POSITIVE_INFINITY) return this.delete(log.topic);
    let count = 0;
    for (let freed = 0; freed < excess && count < log.items.length; count++)
      freed += log.items[count]?.bytes ?? 0;
    this.#drop(log, count);
    this.#forgetIds(log, log.top - log.items.length);
    if (log.items.length === 0) this.#becomeEmpty(log);
  }

  // --- expiry ---

  #examineAt(topic: string, at: number): void {
    if (!this.#isSweeping) {
      this.#swept = Math.floor(this.#clock.now() / SWEEP_EVERY_MS);
      this.#sweepLater();
    }
    const sweep = Math.max(Math.ceil(at / SWEEP_EVERY_MS), this.#swept + 1);
    const topics = this.#due.get(sweep);
    if (topics === undefined) this.#due.set(sweep, new Set([topic]));
    else topics.add(topic);
  }

  #sweepLater(): void {
    this.#isSweeping = true;
    this.#clock.setTimeout(() => this.#sweep(), SWEEP_EVERY_MS);
  }

  #sweep(): void {
    const now = this.#clock.now();
    while (this.#swept < Math.floor(now / SWEEP_EVERY_MS)) {
      const topics = this.#due.get(++this.#swept);
      this.#due.delete(this.#swept);
      for (const topic of topics ?? []) this.#examine(topic, now);
    }
    this.#isSweeping = this.#due.size > 0;
    if (this.#isSweeping) this.#sweepLater();
  }

  #examine(topic: string, now: number): void {
    const log = this.#find(topic, now);
    const expiresAt = Math.min(
      log?.items[0]?.expiresAt ?? Number.POSITIVE_INFINITY,
      log?.endsAt ?? Number.POSITIVE_INFINITY,
    );
    if (expiresAt !== Number.POSITIVE_INFINITY) this.#examineAt(topic, expiresAt);
  }
}

function idBytesOf(id: string): number {
  return 2 * id.length + ITEM_BYTES;
}
