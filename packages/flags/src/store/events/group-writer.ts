/** One writer per process: what comes while it writes waits, and is written together. */
import { FeatureFlagError } from "../../model/errors.ts";

export interface GroupWriter<Item, Result> {
  /** Resolves when the item is committed. Refuses it with 429 when too much is waiting. */
  add(item: Item): Promise<Result>;
  /** Items that are waiting or being written. */
  depth(): number;
  /** Resolves when everything that was accepted is settled. */
  idle(): Promise<void>;
}

export interface GroupWriterOptions<Item, Result> {
  /** Writes all of them or none, and gives the results in their order. */
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** What an item counts for. */
  readonly sizeOf: (item: Item) => number;
  /** As much as may wait. */
  readonly maxQueued: number;
  /** As much as is written together; an item that is larger is written by itself. */
  readonly maxGroup: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly size: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Items that fail one after the other, each by itself, before the cause is taken to be none of theirs. */
const MAX_FAILURES = 3;

export function createGroupWriter<Item, Result>({
  write,
  sizeOf,
  maxQueued,
  maxGroup,
}: GroupWriterOptions<Item, Result>): GroupWriter<Item, Result> {
  let queue: Waiting<Item, Result>[] = [];
  let queued = 0;
  let writing = 0;
  let running: Promise<void> | undefined;

  function take(): Waiting<Item, Result>[] {
    let size = 0;
    let end = 0;
    for (const waiting of queue) {
      if (end > 0 && size + waiting.size > maxGroup) break;
      size += waiting.size;
      end += 1;
    }
    const group = queue.slice(0, end);
    queue = queue.slice(end);
    queued -= size;
    return group;
  }

  async function writeTogether(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const results = await write(group.map(({ item }) => item));
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index];
      if (result === undefined) reject(new Error("The writer gave too few results."));
      else resolve(result);
    }
  }

  /** One item that cannot be written must not take the others with it. */
  async function writeEach(group: readonly Waiting<Item, Result>[]): Promise<void> {
    let failures = 0;
    let last: unknown;
    for (const waiting of group) {
      if (failures === MAX_FAILURES) {
        waiting.reject(last);
        continue;
      }
      try {
        await writeTogether([waiting]);
        failures = 0;
      } catch (error) {
        failures += 1;
        last = error;
        waiting.reject(error);
      }
    }
  }

  async function run(): Promise<void> {
    // What comes in the same turn is written together.
    await Promise.resolve();
    while (queue.length > 0) {
      const group = take();
      writing = group.length;
      try {
        await writeTogether(group);
      } catch (error) {
        if (group.length > 1) await writeEach(group);
        else for (const { reject } of group) reject(error);
      }
      writing = 0;
    }
    running = undefined;
  }

  return {
    async add(item) {
      const size = sizeOf(item);
      // One that is larger than all the room there is gets its turn when nothing else waits.
      if (queued > 0 && queued + size > maxQueued) throw full(maxQueued);
      return new Promise<Result>((resolve, reject) => {
        queue.push({ item, size, resolve, reject });
        queued += size;
        running ??= run();
      });
    },
    depth: () => queue.length + writing,
    async idle() {
      while (running !== undefined) await running;
    },
  };
}

function full(maxQueued: number): FeatureFlagError {
  return new FeatureFlagError(
    "RATE_LIMIT_EXCEEDED",
    `More than ${maxQueued} events are waiting to be written. Send this again in a second.`,
    { details: { retryAfter: 1 } },
  );
}
