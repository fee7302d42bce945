/** Runs a write: the change, its audit entry and the new revision in one transaction, then the refresh of the snapshot. */
import { getCurrentAdapter, queueAfterTransactionHook } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { type Actor, type AuditRecord, type Origin, SYSTEM } from "../../model/audit.ts";
import type { FlagOverride } from "../../model/override.ts";
import type { FlagRow } from "../../model/tables.ts";
import type { WriteScope } from "../flag-store.ts";
import { entityOrRow, entityText } from "../rows/entity.ts";
import { FLAG_MODEL } from "../rows/flags.ts";
import { findExpired, removeOverride, toOverride } from "../rows/overrides.ts";
import { type Adapter, findRow } from "../rows/queries.ts";
import { uuidV7 } from "../uuid.ts";
import { appendAudit } from "./audit.ts";
import { advanceRevision, type ChainEnd, ensureRevision, moveChainEnd } from "./revision.ts";
import type { Transactions } from "./transaction.ts";

/** A change for its audit entry, and the result for the caller. */
export interface Change<Result> extends Pick<AuditRecord, "action" | "flagId" | "flagKey" | "entityId"> {
  readonly before: object | null;
  readonly after: object | null;
  readonly result: Result;
}

/** The transaction of a change. It holds the lock on the tenant's revision, so there is no other writer. */
export interface WriteContext {
  readonly tx: Adapter;
  readonly tenant: string;
  readonly at: Date;
  /** The revision of this change. */
  revision(): number;
  newId(): string;
  /** Deletes an expired override with its own revision and an audit entry that keeps `before`. */
  sweep(override: Pick<FlagOverride, "id" | "flagId">, before: object): Promise<void>;
}

export interface Writer {
  readonly adapter: DBAdapter;
  readonly transactions: Transactions;
  /** Wall-clock time. */
  readonly nowMs: () => number;
  /** Runs after the commit and before the write resolves. */
  readonly committed: (tenant: string, end: ChainEnd) => Promise<void>;
}

/** Expired overrides that each write deletes. */
const SWEEP_LIMIT = 20;

/** Characters of a header that the audit columns hold. */
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
        impersonatedBy: from.impersonatedBy ?? null,
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
      // A damaged override must not block writes.
      await sweep(expired, entityOrRow(row, toOverride));
    }
    const newId = () => uuidV7(at.getTime());
    const { result, ...changed } = await change({ tx, tenant, at, revision: () => revision, newId, sweep });
    await record(changed, actor, origin);
    const end = { revision, auditHash };
    await moveChainEnd(tx, tenant, end);
    // Inside a transaction of the host, the commit comes after the end of this function.
    await queueAfterTransactionHook(() => committed(tenant, end));
    return result;
  });
}
