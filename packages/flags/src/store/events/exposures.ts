/**
 * Queues exposures and identity links and writes them in the background. Repeated exposures of an hour are merged, so that
 * the log gets one row per user, flag, environment, arm and hour, with its first and its last time.
 */
import { later } from "@halyard/base";
import { areRequestsIsolated } from "../isolated-requests.ts";
import type { EventLog, Exposure, IdentityLink } from "./event-log.ts";
import { hourStart } from "./hour.ts";
import { storableId } from "./ids.ts";

export interface Exposures {
  /** Adds an exposure and returns immediately. False if it does not fit into the queue. */
  add(exposure: Exposure): boolean;
  /** Adds the link that a sign-in makes. Returns immediately. */
  link(link: IdentityLink): void;
  /** Writes what is in the queue now. Never rejects: what cannot be written is kept and retried. */
  flush(): Promise<void>;
  /** Exposures and links in the queue. */
  depth(): number;
  close(): Promise<void>;
}

export interface ExposuresOptions {
  readonly log: Pick<EventLog, "expose" | "link">;
  readonly warn: (message: string, error: unknown) => void;
  /** Called with the number of exposures or links that were dropped. */
  readonly lost: (what: "exposure" | "identity-link", count: number) => void;
  readonly maxQueued?: number | undefined;
  /** Exposures in each of the two generations of the deduplication cache. */
  readonly maxRemembered?: number | undefined;
  /** Delay before a later time of a written exposure is written. */
  readonly updateMs?: number | undefined;
}

const MAX_QUEUED = 10_000;
const MAX_REMEMBERED = 50_000;
/** Exposures per transaction. */
const CHUNK = 200;
const RETRY_MS = 1000;
const UPDATE_MS = 10_000;

/** The times of an exposure in its hour. */
interface Span {
  readonly firstMs: number;
  readonly lastMs: number;
}

export function createExposures({
  log,
  warn,
  lost,
  maxQueued = MAX_QUEUED,
  maxRemembered = MAX_REMEMBERED,
  updateMs = UPDATE_MS,
}: ExposuresOptions): Exposures {
  const isolated = areRequestsIsolated();
  /** What is not written yet, by the row that it belongs to. */
  const queue = new Map<string, Exposure>();
  const links = new Map<string, IdentityLink>();
  // Two generations: when the newer one is full, the older one is evicted.
  let recent = new Map<string, Span>();
  let older = new Map<string, Span>();
  let isStarting = false;
  let isUpdateDue = false;
  let isRetryDue = false;
  let isFailing = false;
  let isClosed = false;
  /** The chunk that is being written. */
  let writing: Promise<boolean> | undefined;
  let isDraining = false;

  const depth = () => queue.size + links.size;

  function remember(key: string, span: Span): void {
    if (recent.size >= maxRemembered && !recent.has(key)) {
      older = recent;
      recent = new Map();
    }
    recent.set(key, span);
  }

  function enqueue(key: string, exposure: Exposure): void {
    const queued = queue.get(key);
    queue.set(key, queued === undefined ? exposure : { ...queued, ...unionOf(queued, exposure) });
  }

  /**
   * Writes a chunk of a queue. False if it failed. What is written stays in the queue until then: the request that writes
   * may end before, and the log stores what is written twice once. What was merged in the meantime stays for the next chunk.
   */
  async function writeChunk<Item>(
    from: Map<string, Item>,
    write: (items: readonly Item[]) => Promise<void>,
  ): Promise<boolean> {
    if (from.size === 0) return true;
    const chunk = [...from].slice(0, CHUNK);
    try {
      await write(chunk.map(([, item]) => item));
    } catch (error) {
      fail(error);
      return false;
    }
    for (const [key, item] of chunk) if (from.get(key) === item) from.delete(key);
    return true;
  }

  function fail(error: unknown): void {
    if (!isFailing) warn("Exposures cannot be recorded now. They are kept and retried.", error);
    isFailing = true;
    // Where requests are isolated, the timer of an earlier one may never fire.
    if (isClosed || (isRetryDue && !isolated)) return;
    isRetryDue = true;
    later(() => {
      isRetryDue = false;
      void flush();
    }, RETRY_MS);
  }

  /** Writes the first chunks of both queues. False if it failed. */
  async function writeNext(): Promise<boolean> {
    // Exposures of the same request are written together.
    isStarting = true;
    await Promise.resolve();
    isStarting = false;
    if (!(await writeChunk(links, (some) => log.link(some)))) return false;
    if (!(await writeChunk(queue, (some) => log.expose(some)))) return false;
    isFailing = false;
    return true;
  }

  /** The same for all callers that wait. */
  function takeTurn(): Promise<boolean> {
    if (isolated) return writeNext();
    writing ??= writeNext().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  /** Writes until nothing is left, or until a chunk fails. */
  async function write(): Promise<void> {
    while (depth() > 0) if (!(await takeTurn())) return;
  }

  /** Writes in the background what callers of `flush` do not wait for. */
  function drain(): void {
    if (isDraining) return;
    isDraining = true;
    void write().finally(() => {
      isDraining = false;
    });
  }

  /** Does not wait for what is added later: under load the queue is never empty. */
  async function flush(): Promise<void> {
    // One more, because the chunk that is being written may lack what was added since.
    const turns = Math.ceil(Math.max(queue.size, links.size) / CHUNK) + 1;
    if (!isolated) drain();
    for (let turn = 0; turn < turns && depth() > 0; turn++) if (!(await takeTurn())) return;
  }

  /** During an outage the timer retries. Where timers do not run, every full chunk does. */
  function flushSoon(): void {
    if (!isStarting && writing === undefined && (!isFailing || queue.size % CHUNK === 0)) void flush();
  }

  /** A later time of a written exposure only matters to windows that begin in this hour, so it can wait. */
  function flushLater(): void {
    if (isolated) return flushSoon();
    if (isUpdateDue) return;
    isUpdateDue = true;
    later(() => {
      isUpdateDue = false;
      if (!isClosed) flushSoon();
    }, updateMs);
  }

  return {
    add(original) {
      const exposure = storable(original);
      const key = keyOf(exposure);
      const known = recent.get(key) ?? older.get(key);
      if (known !== undefined && known.firstMs <= exposure.firstMs && known.lastMs >= exposure.lastMs) {
        return true;
      }
      // An exposure that does not fit into the queue is not cached, so that it can be added again later.
      if (!queue.has(key) && depth() >= maxQueued) {
        lost("exposure", 1);
        return false;
      }
      remember(key, known === undefined ? exposure : unionOf(known, exposure));
      enqueue(key, exposure);
      if (known === undefined) flushSoon();
      else flushLater();
      return true;
    },
    link(original) {
      const anonymousId = storableId(original.anonymousId);
      if (links.has(anonymousId)) return;
      if (depth() >= maxQueued) return lost("identity-link", 1);
      links.set(anonymousId, { anonymousId, userId: storableId(original.userId), atMs: original.atMs });
      flushSoon();
    },
    flush,
    depth,
    async close() {
      isClosed = true;
      await write();
      if (queue.size > 0) lost("exposure", queue.size);
      if (links.size > 0) lost("identity-link", links.size);
      queue.clear();
      links.clear();
    },
  };
}

function storable(exposure: Exposure): Exposure {
  const { subject, userId, anonymousId } = exposure;
  return {
    ...exposure,
    ...(subject !== undefined && { subject: storableId(subject) }),
    ...(userId !== undefined && { userId: storableId(userId) }),
    ...(anonymousId !== undefined && { anonymousId: storableId(anonymousId) }),
  };
}

/** The row of an exposure: its hour and everything but its times. Each set of tables stores one row for it. */
export function keyOf(exposure: Exposure): string {
  const { tenant, flagId, arm, byChance, subject, userId, anonymousId, environment, firstMs } = exposure;
  const hour = new Date(hourStart(firstMs)).toISOString();
  return JSON.stringify([
    hour,
    tenant,
    flagId,
    arm,
    byChance,
    subject ?? null,
    userId ?? null,
    anonymousId ?? null,
    environment ?? "",
  ]);
}

function unionOf(one: Span, other: Span): Span {
  return {
    firstMs: Math.min(one.firstMs, other.firstMs),
    lastMs: Math.max(one.lastMs, other.lastMs),
  };
}
