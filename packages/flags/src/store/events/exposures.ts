/** Queues exposures and writes them in the background, once per user, flag, variant and day. */
import { murmur3 } from "../../engine/murmur.ts";
import { MAX_LINE, storableText } from "../../model/inputs.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { later } from "../wait.ts";
import type { EventLog, Exposure } from "./event-log.ts";
import { DAY_MS } from "./hour.ts";

export interface Exposures {
  /** Adds an exposure unless it was recorded today. Returns immediately. */
  add(exposure: Exposure): void;
  /** Writes the queue. Never rejects: exposures that cannot be written are kept and retried. */
  flush(): Promise<void>;
  /** Exposures in the queue. */
  depth(): number;
  close(): Promise<void>;
}

export interface ExposuresOptions {
  readonly log: Pick<EventLog, "expose">;
  readonly warn: (message: string, error: unknown) => void;
  /** Called with the number of exposures that were dropped. */
  readonly lost: (count: number) => void;
  readonly maxQueued?: number | undefined;
  /** Exposures in each of the two generations of the deduplication cache. */
  readonly maxRemembered?: number | undefined;
}

const MAX_QUEUED = 10_000;
const MAX_REMEMBERED = 50_000;
/** Exposures per transaction. */
const CHUNK = 200;
const RETRY_MS = 1000;

export function createExposures({
  log,
  warn,
  lost,
  maxQueued = MAX_QUEUED,
  maxRemembered = MAX_REMEMBERED,
}: ExposuresOptions): Exposures {
  const isolated = areRequestsIsolated();
  let queue: Exposure[] = [];
  // Two generations: when the newer one is full, the older one is evicted.
  let recent = new Set<string>();
  let older = new Set<string>();
  let day = 0;
  /** The last long user id that was shortened: one request often exposes many flags to one user. */
  let lastLongId = { userId: "", short: "" };
  let isStarting = false;
  let isFailing = false;
  let isClosed = false;
  let writing: Promise<void> | undefined;

  /** Shortens long user ids, so that a few callers cannot fill memory and database with them. */
  function withStorableUser(exposure: Exposure): Exposure {
    const { userId } = exposure;
    if (userId.length <= MAX_LINE) return { ...exposure, userId: storableText(userId) };
    if (lastLongId.userId !== userId) lastLongId = { userId, short: shorten(userId) };
    return { ...exposure, userId: lastLongId.short };
  }

  function isNew({ tenant, flagKey, variant, userId, atMs }: Exposure): boolean {
    const today = Math.floor(atMs / DAY_MS);
    if (today > day) {
      day = today;
      recent = new Set();
      older = new Set();
    }
    const key = JSON.stringify([today, tenant, flagKey, variant, userId]);
    if (recent.has(key) || older.has(key)) return false;
    // An exposure that does not fit into the queue is not cached, so that it can be added again later.
    if (queue.length >= maxQueued) return true;
    if (recent.size >= maxRemembered) {
      older = recent;
      recent = new Set();
    }
    recent.add(key);
    return true;
  }

  async function write(): Promise<void> {
    // Exposures of the same request are written together.
    isStarting = true;
    await Promise.resolve();
    isStarting = false;
    while (queue.length > 0) {
      const chunk = queue.slice(0, CHUNK);
      try {
        await log.expose(chunk);
        // A concurrent request may have written some of them too; the log stores them once.
        const written = new Set(chunk);
        queue = queue.filter((exposure) => !written.has(exposure));
        isFailing = false;
      } catch (error) {
        if (!isFailing) warn("Exposures cannot be recorded now. They are kept and retried.", error);
        isFailing = true;
        if (!isClosed) later(() => void flush(), RETRY_MS);
        return;
      }
    }
  }

  function start(): Promise<void> {
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function flush(): Promise<void> {
    if (isolated) return write();
    // A running write does not see exposures that are added after its last chunk.
    do await start();
    while (queue.length > 0 && !isFailing);
  }

  return {
    add(original) {
      const exposure = withStorableUser(original);
      if (!isNew(exposure)) return;
      if (queue.length >= maxQueued) {
        lost(1);
        return;
      }
      queue.push(exposure);
      // During an outage the timer retries. Where timers do not run, every full chunk does.
      if (!isStarting && writing === undefined && (!isFailing || queue.length % CHUNK === 0)) void flush();
    },
    flush,
    depth: () => queue.length,
    async close() {
      isClosed = true;
      await flush();
      if (queue.length === 0) return;
      lost(queue.length);
      queue = [];
    },
  };
}

const PREFIX_LENGTH = 200;

function shorten(userId: string): string {
  const hashes = [userId, `…${userId}`].map((text) => murmur3(text).toString(16).padStart(8, "0"));
  return `${storableText(userId.slice(0, PREFIX_LENGTH))}…${hashes.join("")}`;
}
