/** Which changes the polls of this process have read: each poll asks for the later ones only. */
import type { ChainEnd } from "../writes/revision.ts";
import type { SnapshotSource } from "./contract.ts";

/** The revisions that a poll has read. */
export interface PolledEnds {
  get(tenant: string): ChainEnd | undefined;
  /** False: a tenant without a revision may have changed, unless the poll named it. */
  readonly areAll: boolean;
}

export interface ChangeCursor {
  /** The revisions that may have changed since the last call. `readAtMs` is the time of this call. */
  read(tenants: readonly string[], readAtMs: number): Promise<PolledEnds>;
  /** When the last successful poll began, by the monotonic clock. `-Infinity` before the first. */
  coveredAtMs(): number;
}

/** Polls after which all tenants are compared again: 30 s at the default interval. Finds what was written past the counter. */
const POLLS_UNTIL_ALL = 60;

export function createChangeCursor(
  source: Pick<SnapshotSource<ChainEnd>, "readCounted" | "readRevisions">,
): ChangeCursor {
  let since: number | undefined;
  let polls = 0;
  let coveredAtMs = Number.NEGATIVE_INFINITY;

  return {
    async read(tenants, readAtMs) {
      const { seq, ends } = await source.readCounted(polls < POLLS_UNTIL_ALL ? since : undefined);
      // The counter was read before these revisions, so a change in between is read twice.
      const read = ends ?? (await source.readRevisions(tenants));
      since = seq;
      polls = ends === undefined ? 0 : polls + 1;
      coveredAtMs = Math.max(coveredAtMs, readAtMs);
      return { get: (tenant) => read.get(tenant), areAll: ends !== undefined };
    },
    coveredAtMs: () => coveredAtMs,
  };
}
