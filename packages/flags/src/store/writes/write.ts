/** Runs a write: the change, its audit entry and the new revision in one transaction, then the refresh of the snapshot. */

import { getCurrentAdapter, queueAfterTransactionHook } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { uuidv7 } from "@halyard/base";
import { type Actor, type AuditRecord, type Origin, SYSTEM } from "../../model/audit.ts";
import type { FlagOverride } from "../../model/override.ts";
import type { FlagRow } from "../../model/tables.ts";
import type { WriteScope } from "../flag-store.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { entityOrRow, entityText } from "../rows/entity.ts";
import { FLAG_MODEL } from "../rows/flags.ts";
import { findExpired, removeOverride, toOverride } from "../rows/overrides.ts";
import { type Adapter, findRow } from "../rows/queries.ts";
import { ContentsBuilder } from "../snapshot/contents.ts";
import type { Contents } from "../snapshot/entities.ts";
import { appendAudit } from "./audit.ts";
import { countChange, ensureCounter } from "./change-counter.ts";
import { advanceRevision, type ChainEnd, ensureRevision, moveChainEnd } from "./revision.ts";
import { type Known, readContents, requireRoom } from "./tenant-limits.ts";
import { retryLost, type Transactions } from "./transaction.ts";

/** A change for its audit entry. */
export interface AuditedChange extends Pick<AuditRecord, "action" | "flagId" | "flagKey" | "entityId"> {
  readonly before: object | null;
  readonly after: object | null;
  /** Writes its rows. All checks come before, so that a preview does the same without it. */
  readonly rows: () => Promise<void>;
}

/** A change for its audit entry, and the result for the caller. */
export interface Change<Result> extends AuditedChange {
  readonly result: Result;
}

/** The outcome of a change that leaves everything as it is: it takes no revision and no audit entry. */
export interface Unchanged<Result> {
  readonly action: null;
  readonly result: Result;
}

/** Changes of overrides that the rows do not show yet. */
export interface Drafted {
  /** Ids of deleted ones. */
  readonly gone: ReadonlySet<string>;
  /** How many more there are than rows. */
  readonly addedOverrides: number;
}

/** The transaction of a change. It holds the lock on the tenant's revision, so there is no other writer. */
export interface WriteContext {
  readonly tx: Adapter;
  /** The tables in the transaction, for statements that take the place of several. Undefined where there is only `tx`. */
  readonly tables: HostTables | undefined;
  readonly tenant: string;
  /** The tenant's entities before this change. Undefined if they are invalid. */
  readonly contents: Contents | undefined;
  /** What earlier changes do to the rows, if they are checked and not yet written. */
  readonly drafted?: Drafted;
  /** The time of this change. Later than that of every change before it, even if another node's clock is ahead. */
  readonly at: Date;
  /** The time by this node's clock, which decides what has expired. */
  readonly now: Date;
  /** The revision of this change. */
  revision(): number;
  /** Ids sort in the order of the calls, after the ids of all changes before this one. */
  newId(): string;
  /** Deletes an expired override with its own revision and an audit entry that keeps `before`. */
  sweep(override: Pick<FlagOverride, "id" | "flagId">, before: object): Promise<void>;
  /** Makes a change that precedes the one that is returned, with its own revision and audit entry. */
  precede(change: AuditedChange): Promise<void>;
}

export interface Writer {
  readonly adapter: DBAdapter;
  readonly transactions: Transactions;
  /** Wall-clock time. */
  readonly nowMs: () => number;
  /** The tenant's snapshot, read if it is not in memory. Undefined if it cannot be read. */
  readonly snapshot: (tenant: string) => Promise<Known | undefined>;
  /** The tenant's snapshot in memory, if it is recent. */
  readonly peek: (tenant: string) => Known | undefined;
  /** Runs after the commit and before the write resolves. */
  readonly committed: (tenant: string, end: ChainEnd) => Promise<void>;
}

/** Expired overrides that each write deletes. */
const SWEEP_LIMIT = 20;

/** Difference between the clocks of nodes that the order of the log tolerates. */
const MAX_SKEW_MS = 3_600_000;

/** Ids of one millisecond that a UUID can number. */
const IDS_PER_MS = 4096;

/** Characters of a header that the audit columns hold. */
const MAX_ORIGIN_LENGTH = 512;

export async function write<Result>(
  { adapter, transactions, nowMs, snapshot, peek, committed }: Writer,
  { tenant, actor, origin, changeId: given }: WriteScope,
  change: (context: WriteContext) => Promise<Change<Result> | Unchanged<Result>>,
): Promise<Result> {
  await transactions.prove();
  const current = await getCurrentAdapter(adapter);
  const ensure = async () => {
    await ensureRevision(current, tenant);
    await ensureCounter(current, adapter, tenant);
  };
  await (current === adapter ? retryLost(ensure) : ensure());
  // Inside a transaction of the host, a second connection could wait for it without end.
  const known = current === adapter ? await snapshot(tenant) : undefined;
  // Not where other writers of the tenant wait for every round trip.
  const hasExpired =
    current !== adapter || (await findExpired(current, tenant, new Date(nowMs()), 1)).length > 0;
  return transactions.run(async (tx) => {
    const tables = transactions.tablesIn(tx);
    const { auditAt, ...start } = await advanceRevision(tx, tenant);
    let { revision, auditHash } = start;
    const previous = { revision: revision - 1, auditHash };
    const contents = await readContents(tx, tenant, previous, peek(tenant) ?? known);
    // Read after the lock was taken: otherwise a writer that waited for it would have an earlier time than the others.
    const now = new Date(nowMs());
    const at = timeAfter(auditAt, now);
    let ids = 0;
    const lastAt = () => at.getTime() + Math.floor(ids / IDS_PER_MS);
    const newId = () => uuidv7(lastAt(), ids++ % IDS_PER_MS);

    let changeId = given;
    async function record(changed: Omit<AuditedChange, "rows">, by: Actor, from: Origin): Promise<void> {
      const { action, flagId, flagKey, entityId, before, after } = changed;
      const id = newId();
      // What the system does on this occasion is a change of its own.
      const isOccasion = from !== origin;
      if (!isOccasion) changeId ??= id;
      auditHash = await appendAudit(tx, {
        id,
        tenant,
        revision,
        at: at.toISOString(),
        action,
        actorType: by.type,
        actorId: by.id,
        flagId,
        flagKey,
        entityId,
        before: before && JSON.stringify(before),
        after: after && entityText(after),
        ip: from.ip?.slice(0, MAX_ORIGIN_LENGTH) ?? null,
        userAgent: from.userAgent?.slice(0, MAX_ORIGIN_LENGTH) ?? null,
        requestId: from.requestId?.slice(0, MAX_ORIGIN_LENGTH) ?? null,
        impersonatedBy: from.impersonatedBy ?? null,
        changeId: isOccasion ? id : (changeId ?? id),
        note: from.note ?? null,
        prevHash: auditHash,
      });
    }

    const sweep: WriteContext["sweep"] = async ({ id: entityId, flagId }, before) => {
      await removeOverride(tx, tenant, entityId);
      const flagKey = (await findRow<FlagRow>(tx, FLAG_MODEL, { flagId, tenant }))?.key ?? "";
      const swept = { action: "override.deleted", flagId, flagKey, entityId } as const;
      await record({ ...swept, before, after: null }, SYSTEM, {});
      revision += 1;
    };

    for (const row of hasExpired ? await findExpired(tx, tenant, now, SWEEP_LIMIT) : []) {
      const expired = { id: row.overrideId, flagId: row.flagId };
      // A damaged override must not block writes.
      await sweep(expired, entityOrRow(row, toOverride));
    }
    /** With the changes so far, for the limits of the tenant. */
    const changed = contents && new ContentsBuilder(contents);
    let isAdding = false;
    const make = async (step: AuditedChange) => {
      isAdding ||= step.after !== null;
      changed?.apply({ ...step, revision, after: step.after && entityText(step.after) });
      await step.rows();
      await record(step, actor, origin);
    };
    const precede: WriteContext["precede"] = async (step) => {
      await make(step);
      revision += 1;
    };
    const numbered = { revision: () => revision, newId };
    const context = { tx, tables, tenant, contents, at, now, ...numbered, sweep, precede };
    const outcome = await change(context);
    if (outcome.action === null) revision -= 1;
    else await make(outcome);
    changed?.finish();
    if (contents !== undefined && changed !== undefined && isAdding) await requireRoom(contents, changed);
    const end = { revision, auditHash };
    if (end.auditHash === start.auditHash) {
      await moveChainEnd(tx, tenant, { ...end, auditAt });
      return outcome.result;
    }
    const last = { ...end, auditAt: new Date(lastAt()).toISOString() };
    await countChange(tx, tenant, last, tables);
    // Inside a transaction of the host, the commit comes after the end of this function.
    await queueAfterTransactionHook(() => committed(tenant, end));
    return outcome.result;
  });
}

/** The time of a change after the last one. A clock that was wrong by more than `MAX_SKEW_MS` does not stay in the log. */
function timeAfter(last: string | null, now: Date): Date {
  const aheadMs = last === null ? Number.NaN : Date.parse(last) - now.getTime();
  return aheadMs >= 0 && aheadMs <= MAX_SKEW_MS ? new Date(now.getTime() + aheadMs + 1) : now;
}
