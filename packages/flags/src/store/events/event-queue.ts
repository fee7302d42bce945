/** The queue in front of an event log: items wait here and are written in groups, so that one transaction serves many. */
import { later } from "@halyard/base";
import { FeatureFlagError } from "../../model/errors.ts";

export interface QueueItem {
  /** Rows that the item adds to its group. */
  readonly rows: number;
}

export interface EventQueue<Item extends QueueItem> {
  /** Throws a 429 when too many rows are waiting. */
  push(item: Item): void;
  /** Items that are not written yet, including those being written. */
  depth(): number;
  /** Resolves when no item is left. */
  drain(): Promise<void>;
  /** Refuses new items, and resolves when no item is left. */
  close(): Promise<void>;
}

export interface EventQueueOptions<Item extends QueueItem> {
  /** Writes a group and settles every item of it. Never rejects. */
  readonly write: (group: readonly Item[]) => Promise<void>;
  /** Rows in the queue above which it refuses items, including those being written. */
  readonly maxRows: number;
  /** Rows in a group. A larger item is a group of its own. */
  readonly maxGroupRows: number;
  /** Groups that are written at the same time, each on its own connection. */
  readonly maxParallel: number;
}

/** The longest that a row waits for others while another group could be written. */
const GROUP_WAIT_MS = 20;
/** By then some groups are written, so a caller who retries usually finds room. */
export const QUEUE_RETRY_SECONDS: number = 1;

/** Workers have no `setImmediate` without the flag `nodejs_compat`. Taken now, before a test can replace it. */
const { setImmediate: immediate } = globalThis;
const afterThisTurn: (work: () => void) => void =
  typeof immediate === "function" ? (work) => void immediate(work) : queueMicrotask;

export function createEventQueue<Item extends QueueItem>({
  write,
  maxRows,
  maxGroupRows,
  maxParallel,
}: EventQueueOptions<Item>): EventQueue<Item> {
  let waiting: Item[] = [];
  let waitingRows = 0;
  let running = 0;
  let runningItems = 0;
  let runningRows = 0;
  let isDue = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let draining: { readonly done: Promise<void>; readonly resolve: () => void } | undefined;
  let isClosed = false;

  /** Without load, an item is written immediately. Under load, items that arrive during a write form the next group. */
  function schedule(): void {
    if (waiting.length === 0 || running === maxParallel || isDue) return;
    if (running === 0 || waitingRows >= maxGroupRows || draining !== undefined) {
      isDue = true;
      // Items that arrive in the same turn of the event loop join the group.
      afterThisTurn(start);
    } else timer ??= later(start, GROUP_WAIT_MS);
  }

  function start(): void {
    isDue = false;
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0 || running === maxParallel) return;
    const { group, rows } = take();
    running += 1;
    runningItems += group.length;
    runningRows += rows;
    void write(group).finally(() => {
      running -= 1;
      runningItems -= group.length;
      runningRows -= rows;
      if (isEmpty()) {
        draining?.resolve();
        draining = undefined;
      }
      schedule();
    });
    schedule();
  }

  /** The first item, even if it is larger than a group, and those after it that fit. */
  function take(): { group: Item[]; rows: number } {
    let rows = 0;
    let end = 0;
    for (const item of waiting) {
      if (end > 0 && rows + item.rows > maxGroupRows) break;
      rows += item.rows;
      end += 1;
    }
    const group = waiting.slice(0, end);
    waiting = waiting.slice(end);
    waitingRows -= rows;
    return { group, rows };
  }

  function isEmpty(): boolean {
    return running === 0 && waiting.length === 0;
  }

  async function drain(): Promise<void> {
    if (isEmpty()) return;
    draining ??= createSignal();
    schedule();
    await draining.done;
  }

  return {
    push(item) {
      if (isClosed) {
        throw new FeatureFlagError(
          "STORAGE_ERROR",
          "The feature flags plugin of this process is closed and records no more events.",
        );
      }
      const rows = waitingRows + runningRows;
      // An item larger than the queue is accepted when the queue is empty.
      if (rows > 0 && rows + item.rows > maxRows) throw queueFull(maxRows);
      waiting.push(item);
      waitingRows += item.rows;
      schedule();
    },
    depth: () => waiting.length + runningItems,
    drain,
    close() {
      isClosed = true;
      return drain();
    },
  };
}

function createSignal(): { readonly done: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const done = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { done, resolve };
}

function queueFull(maxRows: number): FeatureFlagError {
  return new FeatureFlagError(
    "RATE_LIMIT_EXCEEDED",
    `More than ${maxRows} events are waiting to be written. Send the request again in ${QUEUE_RETRY_SECONDS} s.`,
    { details: { retryAfter: QUEUE_RETRY_SECONDS } },
  );
}
