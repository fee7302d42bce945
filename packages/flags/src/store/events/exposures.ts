/** Exposures on their way to the event log: each once per user, flag, variant and day, and written behind the response. */
import { murmur3 } from "../../engine/murmur.ts";
import { MAX_LINE, storableText } from "../../model/inputs.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { later } from "../wait.ts";
import type { EventLog, Exposure } from "./event-log.ts";
import { DAY_MS } from "./hour.ts";

export interface Exposures {
  /** Somebody was shown a variant. Returns at once; what has been recorded today is not recorded again. */
  add(exposure: Exposure): void;
  /** Writes what waits. Never rejects: what could not be written is kept and tried again. */
  flush(): Promise<void>;
  /** Exposures that wait to be written. */
  depth(): number;
  close(): Promise<void>;
}

export interface ExposuresOptions {
  readonly log: Pick<EventLog, "expose">;
  readonly warn: (message: string, error: unknown) => void;
  /** Exposures that could not be kept. */
  readonly lost: (count: number) => void;
  readonly maxQueued?: number | undefined;
  /** Exposures remembered as recorded: twice as many, in two halves. */
  readonly maxRemembered?: number | undefined;
}

const MAX_QUEUED = 10_000;
const MAX_REMEMBERED = 50_000;
/** Written at a time, in one transaction. */
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
  // The newer half and the older one, which is forgotten when the newer is full.
  let recent = new Set<string>();
  let older = new Set<string>();
  let day = 0;
  /** The last of the long user ids: one request shows its user many flags. */
  let long = { userId: "", short: "" };
  let isStarting = false;
  let isFailing = false;
  let isClosed = false;
  let writing: Promise<void> | undefined;

  /** A long id by its beginning and hashes: a few callers could fill memory and database with them. */
  function exposed(exposure: Exposure): Exposure {
    const { userId } = exposure;
    if (userId.length <= MAX_LINE) return { ...exposure, userId: storableText(userId) };
    if (long.userId !== userId) long = { userId, short: shorten(userId) };
    return { ...exposure, userId: long.short };
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
    // Whoever finds no place in the queue is not remembered either, so that the next time may be in luck.
    if (queue.length >= maxQueued) return true;
    if (recent.size >= maxRemembered) {
      older = recent;
      recent = new Set();
    }
    recent.add(key);
    return true;
  }

  async function write(): Promise<void> {
    // What the same request adds is written together.
    isStarting = true;
    await Promise.resolve();
    isStarting = false;
    while (queue.length > 0) {
      const chunk = queue.slice(0, CHUNK);
      try {
        await log.expose(chunk);
        // Another request may have written some of them meanwhile, which does no harm.
        const written = new Set(chunk);
        queue = queue.filter((exposure) => !written.has(exposure));
        isFailing = false;
      } catch (error) {
        if (!isFailing) warn("Exposures cannot be recorded now; they are kept and written later.", error);
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
    // What comes while the last of the others is being written is not seen by those who write it.
    do await start();
    while (queue.length > 0 && !isFailing);
  }

  return {
    add(given) {
      const exposure = exposed(given);
      if (!isNew(exposure)) return;
      if (queue.length >= maxQueued) {
        lost(1);
        return;
      }
      queue.push(exposure);
      // While the log fails, its timer tries again, or whoever comes after it where there are no timers.
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

const BEGINNING = 200;

function shorten(userId: string): string {
  const hashes = [userId, `…${userId}`].map((text) => murmur3(text).toString(16).padStart(8, "0"));
  return `${storableText(userId.slice(0, BEGINNING))}…${hashes.join("")}`;
}
