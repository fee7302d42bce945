/** Writes a group of requests in one transaction, and one request at a time when the group as a whole fails. */
import type { QueueItem } from "../event-queue.ts";

/** A request in the queue, with the promise that its caller waits for. */
export interface QueuedRequest<Request, Result> extends QueueItem {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes all requests or none, and returns the results in the same order. */
export type WriteRequests<Request, Result> = (requests: readonly Request[]) => Promise<readonly Result[]>;

/** Consecutive failures of single requests after which the database is at fault, and not the requests. */
const MAX_FAILURES = 3;

/** Settles every request of the group. Never rejects. */
export async function writeTogether<Request, Result>(
  group: readonly QueuedRequest<Request, Result>[],
  write: WriteRequests<Request, Result>,
): Promise<void> {
  try {
    await writeAll(group, write);
  } catch (error) {
    if (group.length > 1) await writeEach(group, write);
    else for (const { reject } of group) reject(error);
  }
}

async function writeAll<Request, Result>(
  group: readonly QueuedRequest<Request, Result>[],
  write: WriteRequests<Request, Result>,
): Promise<void> {
  const results = await write(group.map(({ request }) => request));
  for (const [index, { resolve, reject }] of group.entries()) {
    const result = results[index];
    if (result === undefined) reject(new Error("The event log returned fewer results than requests."));
    else resolve(result);
  }
}

/** A request that cannot be written must not fail the others in its group. */
async function writeEach<Request, Result>(
  group: readonly QueuedRequest<Request, Result>[],
  write: WriteRequests<Request, Result>,
): Promise<void> {
  let failures = 0;
  let lastError: unknown;
  for (const queued of group) {
    if (failures === MAX_FAILURES) {
      queued.reject(lastError);
      continue;
    }
    try {
      await writeAll([queued], write);
      failures = 0;
    } catch (error) {
      failures += 1;
      lastError = error;
      queued.reject(error);
    }
  }
}
