/** What waits to be written, in groups: as small as the load allows, as large as it needs. */
import { FeatureFlagError } from "../../model/errors.ts";
import { later } from "../wait.ts";

/** Something that waits. */
export interface Waiting {
  readonly rows: number;
}

export interface PostgresQueue<Item extends Waiting> {
  /** Throws a 429 when too much is waiting. */
  push(item: Item): void;
  /** Items that are not written yet, those being written included. */
  depth(): number;
  /** Waits until all are written; nothing is taken any more. */
  close(): Promise<void>;
}

export interface PostgresQueueOptions<Item extends Waiting> {
  /** Settles every item of the group. Never rejects. */
  readonly write: (group: readonly Item[]) => Promise<void>;
  /** Rows that may wait, those being written included. */
  readonly maxRows: number;
  /** Groups that are written at the same time. */
  readonly lanes: number;
}

/** A group that has as many rows is not made to wait for more. */
const GROUP_ROWS = 1000;
/** The longest that a row waits for others while a lane is free. */
const GROUP_WAIT_MS = 20;
/** Groups take a small part of it, so that a caller who waits that long finds room. */
const RETRY_AFTER_SECONDS = 1;

export function createPostgresQueue<Item extends Waiting>({
  write,
  maxRows,
  lanes,
}: PostgresQueueOptions<Item>): PostgresQueue<Item> {
  let waiting: Item[] = [];
  let waitingRows = 0;
  let running = 0;
  let runningItems = 0;
  let runningRows = 0;
  let isDue = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closing: Promise<void> | undefined;
  let drained: (() => void) | undefined;
  let isClosed = false;

  /** Without load, a row is written at once; under load, those that come while others are written form a group. */
  function schedule(): void {
    if (waiting.length === 0 || running === lanes || isDue) return;
    if (running === 0 || waitingRows >= GROUP_ROWS || isClosed) {
      isDue = true;
      // Whatever comes in the same turn of the event loop comes along.
      setImmediate(start);
    } else timer ??= later(start, GROUP_WAIT_MS);
  }

  function start(): void {
    isDue = false;
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0 || running === lanes) return;
    const { group, rows } = take();
    running += 1;
    runningItems += group.length;
    runningRows += rows;
    void write(group).finally(() => {
      running -= 1;
      runningItems -= group.length;
      runningRows -= rows;
      if (running === 0 && waiting.length === 0) drained?.();
      schedule();
    });
    schedule();
  }

  /** The first item, however large, and those after it that fit. */
  function take(): { group: Item[]; rows: number } {
    let rows = 0;
    let end = 0;
    for (const item of waiting) {
      if (end > 0 && rows + item.rows > GROUP_ROWS) break;
      rows += item.rows;
      end += 1;
    }
    const group = waiting.slice(0, end);
    waiting = waiting.slice(end);
    waitingRows -= rows;
    return { group, rows };
  }

  return {
    push(item) {
      if (isClosed) {
        throw new FeatureFlagError("STORAGE_ERROR", "The feature flags of this process are closed.");
      }
      const rows = waitingRows + runningRows;
      // A batch larger than the queue is taken when nothing else is.
      if (rows > 0 && rows + item.rows > maxRows) {
        const details = { retryAfter: RETRY_AFTER_SECONDS };
        const message = "Too many events are waiting to be written. Send this again later.";
        throw new FeatureFlagError("RATE_LIMIT_EXCEEDED", message, { details });
      }
      waiting.push(item);
      waitingRows += item.rows;
      schedule();
    },
    depth: () => waiting.length + runningItems,
    close() {
      isClosed = true;
      closing ??= new Promise<void>((resolve) => {
        drained = resolve;
        if (running === 0 && waiting.length === 0) resolve();
        else schedule();
      });
      return closing;
    },
  };
}
