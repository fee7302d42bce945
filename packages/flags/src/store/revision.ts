/** The revision of a tenant's flags: one row, advanced by every change, which also marks the end of its audit chain. */
import type { RevisionRow } from "../model/tables.ts";
import type { HostTables } from "./host-tables.ts";
import { PostgresArray } from "./postgres-array.ts";
import { type Adapter, findRow, isStorableText } from "./rows.ts";

const model = "featureFlagRevision";

/** As many tenants as one query asks for. */
const MAX_TENANTS = 1000;
const ANSWER_WITHIN_MS = 10_000;

/** Where a tenant's history stands: two databases that agree in both have the same history. */
export interface ChainEnd {
  readonly revision: number;
  readonly auditHash: string;
}

/** Before the first change. */
const START: ChainEnd = { revision: 0, auditHash: "" };

export function isSameEnd(a: ChainEnd, b: ChainEnd): boolean {
  return a.revision === b.revision && a.auditHash === b.auditHash;
}

export async function readRevision(adapter: Adapter, tenant: string): Promise<ChainEnd> {
  return (await findRow<RevisionRow>(adapter, model, { tenant })) ?? START;
}

/** The revisions of many tenants, in as few queries as there can be. */
export async function readRevisions(
  adapter: Adapter,
  tenants: readonly string[],
): Promise<Map<string, ChainEnd>> {
  const ends = new Map(tenants.map((tenant) => [tenant, START]));
  const storable = tenants.filter(isStorableText);
  for (let start = 0; start < storable.length; start += MAX_TENANTS) {
    const value = storable.slice(start, start + MAX_TENANTS);
    const where = [{ field: "tenant", operator: "in" as const, value }];
    const rows = await adapter.findMany<RevisionRow>({ model, where, limit: MAX_TENANTS });
    for (const row of rows) if (ends.has(row.tenant)) ends.set(row.tenant, row);
  }
  return ends;
}

/** The same in one question to PostgreSQL itself: it is asked twice a second. */
export async function readRevisionsDirectly(
  tables: HostTables,
  tenants: readonly string[],
): Promise<Map<string, ChainEnd>> {
  const ends = new Map(tenants.map((tenant) => [tenant, START]));
  const asked = new PostgresArray();
  for (const tenant of tenants) if (isStorableText(tenant)) asked.addText(tenant);
  const column = (field: string) => tables.column(model, field);
  const text =
    `select ${column("tenant")} as "tenant", ${column("revision")} as "revision", ` +
    `${column("auditHash")} as "auditHash" from ${tables.table(model)} where ${column("tenant")} = any ($1)`;
  for (const { tenant, revision, auditHash } of await tables.query(ANSWER_WITHIN_MS, text, [
    asked.literal() ?? "{}",
  ]))
    ends.set(String(tenant), { revision: Number(revision), auditHash: String(auditHash) });
  return ends;
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
export async function advanceRevision(tx: Adapter, tenant: string): Promise<ChainEnd> {
  const row = await tx.incrementOne<RevisionRow>({
    model,
    where: [{ field: "tenant", value: tenant }],
    increment: { revision: 1 },
  });
  if (row === null) throw new Error("The revision row is missing. Was it deleted while flags were changed?");
  return row;
}

/** Ends the change: the last revision it took, and the hash of the entry that belongs to it. */
export async function moveChainEnd(tx: Adapter, tenant: string, end: ChainEnd): Promise<void> {
  await tx.update<RevisionRow>({ model, where: [{ field: "tenant", value: tenant }], update: { ...end } });
}
