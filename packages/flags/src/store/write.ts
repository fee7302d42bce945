/** A write: the change, its audit entry and the new revision, in one transaction, and then this node's snapshot. */
import { getCurrentAdapter, queueAfterTransactionHook } from "@better-auth/core/context";
import type { DBAdapter, DBTransactionAdapter } from "@better-auth/core/db/adapter";
import type { Actor, AuditEntry } from "../model/audit.ts";
import { appendAudit } from "./audit.ts";
import { advanceRevision, ensureRevision, moveAuditEnd } from "./revision.ts";
import type { Transactions } from "./transaction.ts";
import { uuidV7 } from "./uuid.ts";

/** What a change did, for its audit entry, and what its caller gets back. */
export interface Change<Result>
  extends Pick<AuditEntry, "action" | "flagId" | "flagKey" | "entityId" | "before" | "after"> {
  readonly result: Result;
}

export interface WriteRequest<Result> {
  readonly organizationId: string;
  readonly actor: Actor;
  /** Runs inside the transaction, with the organization's other writers locked out. */
  change(tx: DBTransactionAdapter, at: Date): Promise<Change<Result>>;
  /** Runs after the commit, before the write is answered. */
  committed(): Promise<void>;
}

export async function write<Result>(
  adapter: DBAdapter,
  transactions: Transactions,
  { organizationId, actor, change, committed }: WriteRequest<Result>,
): Promise<Result> {
  await transactions.prove();
  await ensureRevision(await getCurrentAdapter(adapter), organizationId);
  return transactions.run(async (tx) => {
    const at = new Date();
    const { revision, auditHash: prevHash } = await advanceRevision(tx, organizationId);
    const { result, ...changed } = await change(tx, at);
    const hash = await appendAudit(tx, {
      id: uuidV7(at.getTime()),
      organizationId,
      revision,
      at: at.toISOString(),
      actorType: actor.type,
      actorId: actor.type === "user" ? actor.id : "system",
      ...changed,
      prevHash,
    });
    await moveAuditEnd(tx, organizationId, hash);
    // In a transaction of the host's own, the commit comes later than the end of this function.
    await queueAfterTransactionHook(committed);
    return result;
  });
}
