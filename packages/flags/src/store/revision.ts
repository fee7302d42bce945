/** The revision of an organization's flags: one row, advanced by every change, which also marks the end of its audit chain. */
import type { DBTransactionAdapter } from "@better-auth/core/db/adapter";
import type { RevisionRow } from "../model/tables.ts";

const model = "featureFlagRevision";
const of = (organizationId: string) => [{ field: "organizationId", value: organizationId }];

/** 0 before the first change. */
export async function readRevision(adapter: DBTransactionAdapter, organizationId: string): Promise<number> {
  const row = await adapter.findOne<RevisionRow>({ model, where: of(organizationId) });
  return row?.revision ?? 0;
}

/**
 * Makes sure the row is there. Outside of the change's own transaction: where two first changes meet, one of the two
 * inserts fails, and PostgreSQL gives up a transaction at the first failed statement.
 */
export async function ensureRevision(adapter: DBTransactionAdapter, organizationId: string): Promise<void> {
  if (await adapter.findOne<RevisionRow>({ model, where: of(organizationId) })) return;
  try {
    await adapter.create<RevisionRow>({ model, data: { organizationId, revision: 0, auditHash: "" } });
  } catch (error) {
    if (!(await adapter.findOne<RevisionRow>({ model, where: of(organizationId) }))) throw error;
  }
}

/** Takes the next revision, and with it the row's lock: from here to the commit, changes to these flags wait in line. */
export async function advanceRevision(
  tx: DBTransactionAdapter,
  organizationId: string,
): Promise<{ revision: number; auditHash: string }> {
  const row = await tx.incrementOne<RevisionRow>({
    model,
    where: of(organizationId),
    increment: { revision: 1 },
  });
  if (row === null) throw new Error("The revision row is missing. Was it deleted while flags were changed?");
  return row;
}

export async function moveAuditEnd(
  tx: DBTransactionAdapter,
  organizationId: string,
  auditHash: string,
): Promise<void> {
  await tx.update<RevisionRow>({ model, where: of(organizationId), update: { auditHash } });
}
