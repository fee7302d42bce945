/** A write: the change, its audit entry and the new revision, in one transaction, and then this node's snapshot. */
import { getCurrentAdapter, queueAfterTransactionHook } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { type Actor, type AuditRecord, type Origin, SYSTEM } from "../model/audit.ts";
import type { FlagOverride } from "../model/override.ts";
import type { FlagRow } from "../model/tables.ts";
import { appendAudit } from "./audit.ts";
import { entityOrRow, entityText } from "./entity.ts";
import { FLAG_MODEL } from "./flags.ts";
import { findExpired, removeOverride, toOverride } from "./overrides.ts";
import { advanceRevision, ensureRevision, moveChainEnd } from "./revision.ts";
import { type Adapter, findRow } from "./rows.ts";
import type { WriteScope } from "./store.ts";
import type { Transactions } from "./transaction.ts";
import { uuidV7 } from "./uuid.ts";

/** What a change did, for its audit entry, and what its caller gets back. */
export interface Change<Result> extends Pick<AuditRecord, "action" | "flagId" | "flagKey" | "entityId"> {
  readonly before: object | null;
  readonly after: object | null;
  readonly result: Result;
}

/** What a change works with: a transaction in which all other writers to the tenant's flags are locked out. */
export interface WriteContext {
  readonly tx: Adapter;
  readonly tenant: string;
  readonly at: Date;
  /** The revision this change will make. */
  revision(): number;
  newId(): string;
  /** Deletes an expired override, with a revision and an audit entry of its own, which keeps `before`. */
  sweep(override: Pick<FlagOverride, "id" | "flagId">, before: object): Promise<void>;
}

export interface Writer {
  readonly adapter: DBAdapter;
  readonly transactions: Transactions;
  /** Wall-clock time. */
  readonly nowMs: () => number;
  /** Runs after the commit, before the write is answered. */
  readonly committed: (tenant: string, revision: number) => Promise<void>;
}

/** Expired overrides that a write takes along: enough to keep up with those that expire, too few to be felt. */
const SWEEP_LIMIT = 20;

/** Headers may be of any length, the columns are not. */
const MAX_ORIGIN_LENGTH = 512;

export async function write<Result>(
  { adapter, transactions, nowMs, committed }: Writer,
  { tenant, actor, origin }: WriteScope,
  change: (context: WriteContext) => Promise<Change<Result>>,
): Promise<Result> {
  await transactions.prove();
  await ensureRevision(await getCurrentAdapter(adapter), tenant);
  return transactions.run(async (tx) => {
    const at = new Date(nowMs());
    let { revision, auditHash } = await advanceRevision(tx, tenant);

    async function record(changed: Omit<Change<unknown>, "result">, by: Actor, from: Origin): Promise<void> {
      const { action, flagId, flagKey, entityId, before, after } = changed;
      auditHash = await appendAudit(tx, {
        id: uuidV7(at.getTime()),
        tenant,
        revision,
        at: at.toISOString(),
        action,
        actorType: by.type,
        actorId: by.id,
        flagId,
        flagKey,
        entityId,
        before: before && entityText(before),
        after: after && entityText(after),
        ip: from.ip?.slice(0, MAX_ORIGIN_LENGTH) ?? null,
        userAgent: from.userAgent?.slice(0, MAX_ORIGIN_LENGTH) ?? null,
        requestId: from.requestId?.slice(0, MAX_ORIGIN_LENGTH) ?? null,
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

    for (const row of await findExpired(tx, tenant, at, SWEEP_LIMIT)) {
      const expired = { id: row.overrideId, flagId: row.flagId };
      // A damaged one must not stand in the way of this change, nor of the next.
      await sweep(expired, entityOrRow(row, toOverride));
    }
    const newId = () => uuidV7(at.getTime());
    const { result, ...changed } = await change({ tx, tenant, at, revision: () => revision, newId, sweep });
    await record(changed, actor, origin);
    await moveChainEnd(tx, tenant, { revision, auditHash });
    // In a transaction of the host's own, the commit comes later than the end of this function.
    await queueAfterTransactionHook(() => committed(tenant, revision));
    return result;
  });
}
