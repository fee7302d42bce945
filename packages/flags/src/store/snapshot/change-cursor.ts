/** Which changes the polls of this process have read: each poll asks for the later ones only. */
import type { Counts } from "../writes/change-counter.ts";
import { type ChainEnd, counterOf } from "../writes/revision.ts";
import type { SnapshotSource } from "./contract.ts";

/** The revisions that a poll has read. */
export interface PolledEnds {
  get(tenant: string): ChainEnd | undefined;
  /** False: a tenant without a revision may have changed, unless the poll named it. */
  covers(tenant: string): boolean;
}

export interface ChangeCursor {
  /** The revisions that may have changed since the last call. `readAtMs` is the time of this call. */
  read(tenants: readonly string[], readAtMs: number): Promise<PolledEnds>;
  /** When the last successful poll began, by the monotonic clock. `-Infinity` before the first. */
  coveredAtMs(): number;
}

/** Polls after which all tenants are compared again: 30 s at the default interval. Finds what was written past the counters. */
const POLLS_UNTIL_ALL = 60;

const NONE: Counts = [];

export function createChangeCursor(
  source: Pick<SnapshotSource<ChainEnd>, "readCounted" | "readRevisions">,
): ChangeCursor {
  let since = NONE;
  let polls = 0;
  let coveredAtMs = Number.NEGATIVE_INFINITY;

  return {
    async read(tenants, readAtMs) {
      const asked = polls < POLLS_UNTIL_ALL ? since : NONE;
      const { counts, ends, unknown } = await source.readCounted(asked);
      // The counters were read before these revisions, so a change in between is read twice.
      const unread = tenants.filter((tenant) => unknown.has(counterOf(tenant)));
      const read = unread.length === 0 ? ends : new Map([...ends, ...(await source.readRevisions(unread))]);
      since = counts;
      polls = asked === NONE ? 0 : polls + 1;
      coveredAtMs = Math.max(coveredAtMs, readAtMs);
      return { get: (tenant) => read.get(tenant), covers: (tenant) => !unknown.has(counterOf(tenant)) };
    },
    coveredAtMs: () => coveredAtMs,
  };
}
