/**
 * The change counter: one row counts the changes of all tenants, and each change stores its number in the tenant's
 * revision row. The lock of the counter's row makes the order of the numbers the order of the commits, so a process that
 * knows all changes up to a number asks only for larger ones.
 */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import type { RevisionRow } from "../../model/tables.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { type Adapter, findRow } from "../rows/queries.ts";
import { type ChainEnd, ensureRevision, REVISION_TIMEOUT_MS } from "./revision.ts";

const model = "featureFlagRevision";

/** The tenant of the counter's row, which no organization has as its id. Its `revision` is the counter. */
export const COUNTER = "$changes";

/** With more changed tenants than this, all tenants in use are read. */
const MAX_TENANTS = 1000;

/** The changes after a number. */
export interface CountedChanges {
  /** The number of the last change. */
  readonly seq: number;
  /** The revisions of the tenants that changed. Undefined if the revisions of all tenants must be read. */
  readonly ends: ReadonlyMap<string, ChainEnd> | undefined;
}

/** Databases whose counter exists, by adapter. */
const counting = new WeakSet<object>();

/** Creates the row if it is missing, outside the transaction of the change. */
export async function ensureCounter(current: Adapter, adapter: DBAdapter): Promise<void> {
  if (counting.has(adapter)) return;
  await ensureRevision(current, COUNTER);
  // The host may roll back its own transaction.
  if (current === adapter) counting.add(adapter);
}

/** Takes the next number. The last statement but one of a change: other tenants' changes wait from here to the commit. */
export async function takeSeq(tx: Adapter): Promise<number> {
  const row = await tx.incrementOne<RevisionRow>({
    model,
    where: [{ field: "tenant", value: COUNTER }],
    increment: { revision: 1 },
  });
  if (row !== null) return row.revision;
  // Another program has deleted the row. Processes notice that the counter begins again, and read all tenants.
  const data = { tenant: COUNTER, revision: 1, auditHash: "", auditAt: null, seq: null };
  await tx.create<RevisionRow>({ model, data });
  return 1;
}

/** The changes after the number `since`; undefined reads only the counter. */
export async function readCounted(adapter: Adapter, since: number | undefined): Promise<CountedChanges> {
  const counter = await findRow<RevisionRow>(adapter, model, { tenant: COUNTER });
  const seq = counter?.revision ?? 0;
  if (since === undefined || seq < since) return { seq, ends: undefined };
  if (seq === since) return { seq, ends: new Map() };
  const rows = await adapter.findMany<RevisionRow>({
    model,
    where: [{ field: "seq", operator: "gt", value: since }],
    limit: MAX_TENANTS + 1,
  });
  return countedOf(seq, since, rows);
}

/** The same in one query on PostgreSQL without the adapter. */
export async function readCountedDirectly(
  tables: HostTables,
  since: number | undefined,
): Promise<CountedChanges> {
  const column = (field: string) => tables.column(model, field);
  const text =
    `select ${column("tenant")} as "tenant", ${column("revision")} as "revision", ` +
    `${column("auditHash")} as "auditHash", ${column("seq")} as "seq" from ${tables.table(model)} ` +
    `where ${column("tenant")} = $1 or ${column("seq")} > $2 ` +
    `order by ${column("tenant")} = $1 desc limit ${MAX_TENANTS + 2}`;
  // Without a number, no row has a larger one.
  const rows = await tables.query(REVISION_TIMEOUT_MS, text, [COUNTER, since ?? LARGEST]);
  const read = rows.map(({ tenant, revision, auditHash }) => ({
    tenant: String(tenant),
    revision: Number(revision),
    auditHash: String(auditHash),
  }));
  const seq = read.find(({ tenant }) => tenant === COUNTER)?.revision ?? 0;
  if (since === undefined || seq < since) return { seq, ends: undefined };
  return countedOf(
    seq,
    since,
    read.filter(({ tenant }) => tenant !== COUNTER),
  );
}

/** The largest value of the column. */
const LARGEST = 2 ** 31 - 1;

function countedOf(
  seq: number,
  since: number,
  rows: readonly (ChainEnd & { readonly tenant: string })[],
): CountedChanges {
  // A number without a row: another program has changed the table.
  if (rows.length > MAX_TENANTS || (seq > since && rows.length === 0)) return { seq, ends: undefined };
  return { seq, ends: new Map(rows.map((row) => [row.tenant, row])) };
}
