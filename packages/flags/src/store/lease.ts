/** Work that one node at a time does: a row in the database says whose it is, and a number that it advances says it lives. */
import type { LeaseRow } from "../model/tables.ts";
import { areRequestsIsolated } from "./isolated-requests.ts";
import { type Adapter, findRow, where } from "./rows.ts";

const model = "featureFlagLease";

/** A holder that has not advanced the number for so long is gone. */
export const LEASE_MS: number = 20_000;
const MAX_BEAT = 2 ** 31 - 1;
/** What the number counts from, in seconds since 1970: it follows the clock, for those who have not seen it before. */
const FIRST_BEAT_S = 1_700_000_000;
/** A holder whose number is so far behind the clock is gone, too: more than clocks differ. */
const ABANDONED_S = 300;

export interface Lease {
  /** Takes it, or keeps it; to be called a few times per `LEASE_MS`. False: another node has it. */
  hold(): Promise<boolean>;
  /** Whether nobody else can have it yet. */
  isHeld(): boolean;
  /** Lets another node have it at once. */
  release(): Promise<void>;
}

/**
 * Whoever waits measures by its own clock how long the number stands still. Where nobody lives long enough to wait, as
 * in a scheduled job, the number itself tells, minutes later. A holder that was frozen and wakes up may work beside its
 * successor for a moment.
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
  /** Two at once would each find that the other has changed the row. */
  let asking: Promise<boolean> | undefined;

  /** Changes the row if it is still the one that was read. */
  async function replace(row: LeaseRow, next: string): Promise<boolean> {
    const beat = row.beat >= MAX_BEAT ? 0 : Math.max(row.beat + 1, clockBeat());
    const unchanged = [...where({ name, holder: row.holder }), { field: "beat", value: row.beat }];
    return (await adapter.updateMany({ model, where: unchanged, update: { holder: next, beat } })) > 0;
  }

  function clockBeat(): number {
    return Math.min(Math.max(Math.floor(wallMs() / 1000) - FIRST_BEAT_S, 0), MAX_BEAT);
  }

  /** Whether its holder has given it back, or can be taken for dead. */
  function isFree(row: LeaseRow, nowMs: number): boolean {
    if (row.holder === "") return true;
    if (seen === undefined || seen.row.holder !== row.holder || seen.row.beat !== row.beat) {
      seen = { row, atMs: nowMs };
    }
    return nowMs - seen.atMs >= LEASE_MS || clockBeat() - row.beat >= ABANDONED_S;
  }

  async function ask(): Promise<boolean> {
    // Taken before the asking: an answer may be slow.
    const nowMs = monotonicMs();
    const row = (await findRow<LeaseRow>(adapter, model, { name })) ?? (await create(adapter, name));
    const isMine = row.holder === holder;
    const isHeld = (isMine || isFree(row, nowMs)) && (await replace(row, holder));
    heldUntilMs = isHeld ? nowMs + LEASE_MS / 2 : Number.NEGATIVE_INFINITY;
    return isHeld;
  }

  return {
    hold() {
      if (areRequestsIsolated()) return ask();
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    isHeld: () => monotonicMs() < heldUntilMs,
    async release() {
      await asking?.catch(() => undefined);
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
    // Another node may have been first.
    const row = await findRow<LeaseRow>(adapter, model, { name });
    if (row === undefined) throw error;
    return row;
  }
}
