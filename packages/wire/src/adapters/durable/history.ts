/** The logs of topics in the SQLite storage of a Durable Object. Expired frames are removed by an alarm. */
import type { Clock } from "@halyard/base";
import { byteLength } from "../../protocol/bytes.ts";
import type {
  AppendOptions,
  AppendResult,
  History,
  HistoryItem,
  HistoryPage,
  HistoryPosition,
  HistoryReadOptions,
} from "../../pubsub/history.ts";
import {
  EPOCH_KEPT_MS,
  emptyPage,
  epochIds,
  invalidAppend,
  MIN_KEPT_IDS,
  offsetOf,
} from "../../pubsub/history-rules.ts";
import type { LocalTopics } from "../../pubsub/local-topics.ts";
import { Timeout, type Timers } from "../../time/timers.ts";
import type { DurableRow, DurableStorage } from "./platform.ts";

/** The storage key of the time at which something expires, in ms since epoch. */
const SWEEP_KEY = "halyard:history";
/** Expired frames are removed at most this often; reads leave them out at once. */
const SWEEP_EVERY_MS = 30_000;
/** The platform allows 2 MB per row. */
const MAX_FRAME_BYTES = 1_900_000;
const TABLES = [
  "CREATE TABLE IF NOT EXISTS halyard_logs (topic TEXT PRIMARY KEY, epoch TEXT NOT NULL, top INTEGER NOT NULL, ended INTEGER NOT NULL, ends_at INTEGER NOT NULL) WITHOUT ROWID",
  "CREATE TABLE IF NOT EXISTS halyard_frames (topic TEXT NOT NULL, place INTEGER NOT NULL, frame TEXT NOT NULL, excluded TEXT, expires_at INTEGER, PRIMARY KEY (topic, place)) WITHOUT ROWID",
  "CREATE TABLE IF NOT EXISTS halyard_ids (topic TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (topic, id)) WITHOUT ROWID",
  "CREATE INDEX IF NOT EXISTS halyard_ids_by_place ON halyard_ids (topic, place)",
];

interface Log {
  readonly epoch: string;
  readonly top: number;
  readonly hasEnded: boolean;
}

export class DurableHistory implements History {
  readonly #storage: DurableStorage;
  readonly #topics: LocalTopics;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #nextEpoch = epochIds();
  readonly #sweeping = new Timeout(() => this.#sweep());
  /** When the next sweep is due; infinite when nothing is stored. */
  #sweepAt: number;

  /** The clock must show wall time, because frames outlive this instance of the object. */
  constructor(storage: DurableStorage, topics: LocalTopics, clock: Clock, timers: Timers) {
    this.#storage = storage;
    this.#topics = topics;
    this.#clock = clock;
    this.#timers = timers;
    const sweepAt = storage.kv.get(SWEEP_KEY);
    this.#sweepAt = typeof sweepAt === "number" ? sweepAt : Number.POSITIVE_INFINITY;
    timers.add(this.#sweeping, this.#sweepAt - clock.now());
  }

  append(topic: string, frame: string, options: AppendOptions): AppendResult {
    const details =
      invalidAppend(options) ??
      (byteLength(frame) > MAX_FRAME_BYTES ? { maxMessageBytes: MAX_FRAME_BYTES } : undefined);
    if (details !== undefined) return { ok: false, error: "VALIDATION", retryable: false, details };
    const result = this.#change(() => this.#append(topic, frame, options));
    if (!result.ok || result.isRepeated) return result;
    const matchedLocal = this.#topics.deliver(topic, frame, options.excludeClientId, result.position);
    return { ...result, matchedLocal };
  }

  #append(topic: string, frame: string, options: AppendOptions): AppendResult {
    const { size, ttlMs, lifetime, id, excludeClientId, isLast = false, epoch: expected } = options;
    const now = this.#clock.now();
    const log = this.#find(topic, now);
    if (expected !== undefined && log?.epoch !== expected)
      return { ok: false, error: "EPOCH", retryable: false };
    const epoch = log?.epoch ?? this.#nextEpoch();
    const repeated = id === undefined || log === undefined ? undefined : this.#offsetOfId(topic, id, now);
    if (repeated !== undefined) return { ok: true, position: { epoch, offset: repeated }, isRepeated: true };
    if (log?.hasEnded) return { ok: false, error: "ENDED", retryable: false };
    const offset = (log?.top ?? 0) + 1;
    const expiresAt = Math.ceil(now + ttlMs);
    const isTopicLifetime = lifetime === "topic";
    const endsAt = isTopicLifetime ? expiresAt : now + EPOCH_KEPT_MS;
    this.#run(
      "INSERT INTO halyard_frames (topic, place, frame, excluded, expires_at) VALUES (?, ?, ?, ?, ?)",
      topic,
      offset,
      frame,
      excludeClientId ?? null,
      isTopicLifetime ? null : expiresAt,
    );
    this.#run("DELETE FROM halyard_frames WHERE topic = ? AND place <= ?", topic, offset - size);
    this.#writeLog(topic, { epoch, top: offset, hasEnded: isLast }, endsAt);
    if (id !== undefined) {
      const oldest = offset - Math.max(size, MIN_KEPT_IDS);
      this.#run("DELETE FROM halyard_ids WHERE topic = ? AND place <= ?", topic, oldest);
      this.#run(
        "INSERT OR REPLACE INTO halyard_ids (topic, id, place, expires_at) VALUES (?, ?, ?, ?)",
        topic,
        id,
        offset,
        expiresAt,
      );
    }
    this.#sweepBy(expiresAt);
    return { ok: true, position: { epoch, offset }, isRepeated: false };
  }

  read(topic: string, options: HistoryReadOptions): HistoryPage {
    return this.#change(() => this.#read(topic, options));
  }

  #read(topic: string, options: HistoryReadOptions): HistoryPage {
    const { after, last = 0, maxItems, maxBytes, create = true } = options;
    const log = this.#find(topic, this.#clock.now()) ?? (create ? this.#create(topic) : undefined);
    if (log === undefined) return emptyPage(options);
    const { epoch, top, hasEnded } = log;
    const isSame = after?.epoch === epoch && offsetOf(after) <= top;
    const first = after === undefined ? Math.max(1, top - last + 1) : isSame ? after.offset + 1 : 1;
    const items: HistoryItem[] = [];
    let bytes = 0;
    let oldest = top + 1;
    for (const row of first > top ? [] : this.#frames(topic, first)) {
      const offset = Number(row["place"]);
      // Only the oldest frames expire, so that the items are contiguous.
      if (oldest > top && isExpired(row, this.#clock.now())) continue;
      oldest = Math.min(oldest, offset);
      const frame = String(row["frame"]);
      bytes += byteLength(frame);
      if (items.length >= maxItems || (bytes > maxBytes && items.length > 0)) break;
      const excluded = row["excluded"];
      items.push({ offset, frame, excludeClientId: typeof excluded === "string" ? excluded : undefined });
    }
    const isMissing = after !== undefined && (!isSame || oldest > first);
    const reached = items.at(-1)?.offset ?? oldest - 1;
    return { epoch, top, items, isMissing, hasMore: reached < top, hasEnded };
  }

  top(topic: string): HistoryPosition {
    const { epoch, top } = this.read(topic, { maxItems: 0, maxBytes: 0 });
    return { epoch, offset: top };
  }

  delete(topic: string): void {
    this.#change(() => this.#delete(topic));
  }

  // --- rows ---

  #find(topic: string, now: number): Log | undefined {
    const [row] = this.#run("SELECT epoch, top, ended, ends_at FROM halyard_logs WHERE topic = ?", topic);
    if (row === undefined) return undefined;
    if (Number(row["ends_at"]) > now)
      return { epoch: String(row["epoch"]), top: Number(row["top"]), hasEnded: row["ended"] === 1 };
    this.#delete(topic);
    return undefined;
  }

  #create(topic: string): Log {
    const log = { epoch: this.#nextEpoch(), top: 0, hasEnded: false };
    const endsAt = this.#clock.now() + EPOCH_KEPT_MS;
    this.#writeLog(topic, log, endsAt);
    this.#sweepBy(endsAt);
    return log;
  }

  #writeLog(topic: string, { epoch, top, hasEnded }: Log, endsAt: number): void {
    this.#run(
      "INSERT OR REPLACE INTO halyard_logs (topic, epoch, top, ended, ends_at) VALUES (?, ?, ?, ?, ?)",
      topic,
      epoch,
      top,
      hasEnded ? 1 : 0,
      endsAt,
    );
  }

  #offsetOfId(topic: string, id: string, now: number): number | undefined {
    const [row] = this.#run(
      "SELECT place FROM halyard_ids WHERE topic = ? AND id = ? AND expires_at > ?",
      topic,
      id,
      now,
    );
    return row === undefined ? undefined : Number(row["place"]);
  }

  /** The kept frames from this offset on, which are read as they are iterated. */
  #frames(topic: string, from: number): Iterable<DurableRow> {
    return this.#storage.sql.exec(
      "SELECT place, frame, excluded, expires_at FROM halyard_frames WHERE topic = ? AND place >= ? ORDER BY place",
      topic,
      from,
    );
  }

  #delete(topic: string): void {
    for (const table of ["halyard_logs", "halyard_frames", "halyard_ids"])
      this.#run(`DELETE FROM ${table} WHERE topic = ?`, topic);
  }

  #run(query: string, ...bindings: (string | number | null)[]): DurableRow[] {
    return [...this.#storage.sql.exec(query, ...bindings)];
  }

  /** Runs the task in a transaction. The tables are created when they are missing: the application may delete its storage. */
  #change<T>(task: () => T): T {
    try {
      return this.#storage.transactionSync(task);
    } catch (error) {
      if (!/no such table/i.test(String(error))) throw error;
      this.#sweepAt = Number.POSITIVE_INFINITY;
      return this.#storage.transactionSync(() => {
        for (const table of TABLES) this.#run(table);
        return task();
      });
    }
  }

  // --- expiry ---

  #sweepBy(at: number): void {
    if (at >= this.#sweepAt) return;
    this.#sweepAt = at;
    this.#storage.kv.put(SWEEP_KEY, at);
    this.#timers.add(this.#sweeping, at - this.#clock.now());
  }

  #sweep(): void {
    const now = this.#clock.now();
    this.#sweepAt = Number.POSITIVE_INFINITY;
    const next = this.#change(() => {
      for (const row of this.#run("SELECT topic FROM halyard_logs WHERE ends_at <= ?", now))
        this.#delete(String(row["topic"]));
      this.#run(
        "DELETE FROM halyard_frames WHERE expires_at <= ?1 AND NOT EXISTS (SELECT 1 FROM halyard_frames AS earlier WHERE earlier.topic = halyard_frames.topic AND earlier.place < halyard_frames.place AND earlier.expires_at > ?1)",
        now,
      );
      this.#run("DELETE FROM halyard_ids WHERE expires_at <= ?", now);
      const [row] = this.#run(
        "SELECT min((SELECT min(ends_at) FROM halyard_logs), ifnull((SELECT min(expires_at) FROM halyard_frames), 9e15)) AS next",
      );
      return row?.["next"];
    });
    if (typeof next === "number") this.#sweepBy(Math.max(next, now + SWEEP_EVERY_MS));
    else this.#storage.kv.delete(SWEEP_KEY);
  }
}

function isExpired(row: DurableRow, now: number): boolean {
  const expiresAt = row["expires_at"];
  return typeof expiresAt === "number" && expiresAt <= now;
}
