/** The revision of a tenant's flags: one row, advanced by every change, which also marks the end of its audit chain. */
import type { RevisionRow } from "../model/tables.ts";
import { type Adapter, findRow } from "./rows.ts";

const model = "featureFlagRevision";

/** As many tenants as one query asks for. */
const MAX_TENANTS = 1000;

/** 0 before the first change. */
export async function readRevision(adapter: Adapter, tenant: string): Promise<number> {
  return (await findRow<RevisionRow>(adapter, model, { tenant }))?.revision ?? 0;
}

/** The revisions of many tenants, in as few queries as there can be. */
export async function readRevisions(
  adapter: Adapter,
  tenants: readonly string[],
): Promise<Map<string, number>> {
  const revisions = new Map(tenants.map((tenant) => [tenant, 0]));
  for (let start = 0; start < tenants.length; start += MAX_TENANTS) {
    const value = tenants.slice(start, start + MAX_TENANTS);
    const where = [{ field: "tenant", operator: "in" as const, value }];
    const rows = await adapter.findMany<RevisionRow>({ model, where, limit: MAX_TENANTS });
    for (const { tenant, revision } of rows) if (revisions.has(tenant)) revisions.set(tenant, revision);
  }
  return revisions;
}

/**
 * Makes sure the row is there. Outside of the change's own transaction: where two first changes meet, one of the two
 * inserts fails, and PostgreSQL gives up a transaction at the first failed statement.
 */
export async function ensureRevision(adapter: Adapter, tenant: string): Promise<void> {
  if (await findRow<RevisionRow>(adapter, model, { tenant })) return;
  try {
    await adapter.create<RevisionRow>({ model, data: { tenant, revision: 0, auditHash: "" } });
  } catch (error) {
    if (!(await findRow<RevisionRow>(adapter, model, { tenant }))) throw error;
  }
}

/** Takes the next revision, and with it the row's lock: from here to the commit, changes to these flags wait in line. */
export async function advanceRevision(
  tx: Adapter,
  tenant: string,
): Promise<{ revision: number; auditHash: string }> {
  const row = await tx.incrementOne<RevisionRow>({
    model,
    where: [{ field: "tenant", value: tenant }],
    increment: { revision: 1 },
  });
  if (row === null) throw new Error("The revision row is missing. Was it deleted while flags were changed?");
  return row;
}

/** Ends the change: the last revision it took, and the hash of the entry that belongs to it. */
export async function moveChainEnd(
  tx: Adapter,
  tenant: string,
  end: { revision: number; auditHash: string },
): Promise<void> {
  await tx.update<RevisionRow>({ model, where: [{ field: "tenant", value: tenant }], update: end });
}
