/** A lease on work that one process at a time does: a row names the holder, and the holder increments its beat. */
import type { LeaseRow } from "../../../model/tables.ts";
import { areRequestsIsolated } from "../../isolated-requests.ts";
import { type Adapter, findRow, where } from "../../rows/queries.ts";

const model = "featureFlagLease";

/** A holder that has not incremented the beat for this time is dead. */
export const LEASE_MS: number = 20_000;
const MAX_BEAT = 2 ** 31 - 1;
/** Seconds since 1970 at beat 0. The beat follows the clock, so that a new process can judge it. */
const FIRST_BEAT_S = 1_700_000_000;
/** A holder whose beat is this far behind the clock is dead, too. Larger than the tolerated clock skew. */
const ABANDONED_S = 300;

export interface Lease {
  /** Takes or renews the lease. Call it a few times per `LEASE_MS`. Returns false if another process holds it. */
  hold(): Promise<boolean>;
  /** Whether no other process can have taken the lease yet. */
  isHeld(): boolean;
  /** Lets another process take the lease immediately. */
  release(): Promise<void>;
}

/**
 * A waiting process measures with its own clock how long the beat stays the same. Short-lived processes, such as scheduled
 * jobs, compare the beat with the clock instead. A holder that was suspended may work beside its successor for a moment.
 */
export function createLease(
  adapter: Adapter,
  name: string,
  {
    nowMs: wallMs = Date.now,
    monotonicMs = () => performance.now(),
  }: {
    readonly nowMs?: (() => number) | undefined;
    readonly monotonicMs?: (() => number) | undefined;
  } = {},
): Lease {
  const holder = crypto.randomUUID();
  let seen: { readonly row: LeaseRow; readonly atMs: number } | undefined;
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  /** Concurrent calls share one attempt, because each would find the row changed by the other. */
  let attempt: Promise<boolean> | undefined;

  /** Updates the row if it has not changed since it was read. */
  async function replace(row: LeaseRow, next: string): Promise<boolean> {
    const beat = row.beat >= MAX_BEAT ? 0 : Math.max(row.beat + 1, clockBeat());
    const unchanged = [...where({ name, holder: row.holder }), { field: "beat", value: row.beat }];
    return (await adapter.updateMany({ model, where: unchanged, update: { holder: next, beat } })) > 0;
  }

  function clockBeat(): number {
    return Math.min(Math.max(Math.floor(wallMs() / 1000) - FIRST_BEAT_S, 0), MAX_BEAT);
  }

  /** Whether the holder has released the lease or is dead. */
  function isFree(row: LeaseRow, nowMs: number): boolean {
    if (row.holder === "") return true;
    if (seen === undefined || seen.row.holder !== row.holder || seen.row.beat !== row.beat) {
      seen = { row, atMs: nowMs };
    }
    return nowMs - seen.atMs >= LEASE_MS || clockBeat() - row.beat >= ABANDONED_S;
  }

  async function tryHold(): Promise<boolean> {
    // Taken before the queries, because they may be slow.
    const nowMs = monotonicMs();
    const row = (await findRow<LeaseRow>(adapter, model, { name })) ?? (await create(adapter, name));
    const isMine = row.holder === holder;
    const isHeld = (isMine || isFree(row, nowMs)) && (await replace(row, holder));
    heldUntilMs = isHeld ? nowMs + LEASE_MS / 2 : Number.NEGATIVE_INFINITY;
    return isHeld;
  }

  return {
    hold() {
      if (areRequestsIsolated()) return tryHold();
      attempt ??= tryHold().finally(() => {
        attempt = undefined;
      });
      return attempt;
    },
    isHeld: () => monotonicMs() < heldUntilMs,
    async release() {
      await attempt?.catch(() => undefined);
      heldUntilMs = Number.NEGATIVE_INFINITY;
      const row = await findRow<LeaseRow>(adapter, model, { name });
      if (row?.holder === holder) await replace(row, "");
    },
  };
}

async function create(adapter: Adapter, name: string): Promise<LeaseRow> {
  try {
    return await adapter.create<LeaseRow>({ model, data: { name, holder: "", beat: 0 } });
  } catch (error) {
    // Another process may have created it first.
    const row = await findRow<LeaseRow>(adapter, model, { name });
    if (row === undefined) throw error;
    return row;
  }
}
