/** The revision row of a tenant: every change advances it, and it marks the end of the audit log. */
import { murmur3 } from "../../engine/murmur.ts";
import type { RevisionRow } from "../../model/tables.ts";
import { PostgresArray } from "../postgres/array.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { type Adapter, findRow, isStorableText } from "../rows/queries.ts";

const model = "featureFlagRevision";

/** Tenants per query. */
const MAX_TENANTS = 1000;
/** Timeout of a query for revisions. */
export const REVISION_TIMEOUT_MS: number = 10_000;

/** Change counters. Changes of tenants with different counters do not wait for each other. */
export const COUNTERS = 64;

/** The change counter of a tenant. */
export function counterOf(tenant: string): number {
  return murmur3(tenant) % COUNTERS;
}

/** The end of a tenant's audit log. Two databases with the same end have the same history. */
export interface ChainEnd {
  readonly revision: number;
  readonly auditHash: string;
}

/** The end before the first change. */
export const START: ChainEnd = { revision: 0, auditHash: "" };

export function isSameEnd(a: ChainEnd, b: ChainEnd): boolean {
  return a.revision === b.revision && a.auditHash === b.auditHash;
}

export async function readRevision(adapter: Adapter, tenant: string): Promise<ChainEnd> {
  return (await findRow<RevisionRow>(adapter, model, { tenant })) ?? START;
}

/** The revisions of many tenants, in few queries. */
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

/** The same in one query on PostgreSQL without the adapter, for polling. */
export async function readRevisionsDirectly(
  tables: HostTables,
  tenants: readonly string[],
): Promise<Map<string, ChainEnd>> {
  const ends = new Map(tenants.map((tenant) => [tenant, START]));
  const storable = new PostgresArray();
  for (const tenant of tenants) if (isStorableText(tenant)) storable.addText(tenant);
  const column = (field: string) => tables.column(model, field);
  const text =
    `select ${column("tenant")} as "tenant", ${column("revision")} as "revision", ` +
    `${column("auditHash")} as "auditHash" from ${tables.table(model)} where ${column("tenant")} = any ($1)`;
  for (const { tenant, revision, auditHash } of await tables.query(REVISION_TIMEOUT_MS, text, [
    storable.literal() ?? "{}",
  ]))
    ends.set(String(tenant), { revision: Number(revision), auditHash: String(auditHash) });
  return ends;
}

/**
 * Creates the row if it is missing, outside the transaction of the change: of two concurrent inserts one fails, and
 * PostgreSQL aborts a transaction at the first failed statement.
 */
export async function ensureRevision(
  adapter: Adapter,
  tenant: string,
  counter: number = counterOf(tenant),
): Promise<void> {
  if (await findRow<RevisionRow>(adapter, model, { tenant })) return;
  try {
    await adapter.create<RevisionRow>({ model, data: firstRow(tenant, counter) });
  } catch (error) {
    if (!(await findRow<RevisionRow>(adapter, model, { tenant }))) throw error;
  }
}

/** A row before its first change. */
export function firstRow(tenant: string, counter: number | null): Omit<RevisionRow, "id"> {
  return { tenant, revision: 0, auditHash: "", auditAt: null, counter, seq: null };
}

/** Takes the next revision and the lock of the row: other changes to the tenant's flags wait until the commit. */
export async function advanceRevision(tx: Adapter, tenant: string): Promise<RevisionRow> {
  const row = await tx.incrementOne<RevisionRow>({
    model,
    where: [{ field: "tenant", value: tenant }],
    increment: { revision: 1 },
  });
  if (row === null)
    throw new Error(
      "The revision row of the tenant is missing. Another program may have deleted it; repeat the change.",
    );
  return row;
}

/** Stores the last revision of the change, and the hash, time and number of its audit entry. */
export async function moveChainEnd(
  tx: Adapter,
  tenant: string,
  end: Pick<RevisionRow, "revision" | "auditHash" | "auditAt"> & Partial<Pick<RevisionRow, "seq">>,
): Promise<void> {
  await tx.update<RevisionRow>({ model, where: [{ field: "tenant", value: tenant }], update: { ...end } });
}
