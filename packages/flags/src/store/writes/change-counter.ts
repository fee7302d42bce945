/**
 * The change counters: 64 rows count the changes of all tenants, and each change stores its number in the tenant's revision
 * row. The lock of a counter's row makes the order of its numbers the order of the commits, so a process that knows all
 * changes up to a number asks only for larger ones.
 */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import type { RevisionRow } from "../../model/tables.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import type { Adapter } from "../rows/queries.ts";
import {
  type ChainEnd,
  COUNTERS,
  counterOf,
  ensureRevision,
  firstRow,
  moveChainEnd,
  REVISION_TIMEOUT_MS,
} from "./revision.ts";

const model = "featureFlagRevision";

/** With more changed tenants of one counter than this, all of its tenants in use are read. */
const MAX_TENANTS = 100;

/** The tenant of a counter's row, which no organization has as its id. Its `revision` is the counter. */
export function counterName(counter: number): string {
  return `$changes-${counter}`;
}

const NAMES: readonly string[] = Array.from({ length: COUNTERS }, (_, counter) => counterName(counter));

/** The numbers of the last changes, by counter. */
export type Counts = readonly (number | undefined)[];

/** The changes after some numbers. */
export interface CountedChanges {
  readonly counts: Counts;
  /** The revisions of the tenants that changed. */
  readonly ends: ReadonlyMap<string, ChainEnd>;
  /** Counters whose numbers do not tell what changed: the revisions of all their tenants must be read. */
  readonly unknown: ReadonlySet<number>;
  /** Whether the database refuses writes. Undefined if it did not say. */
  readonly isReadOnly?: boolean;
}

/** The counters that exist, by adapter. */
const counting = new WeakMap<object, Set<number>>();

type AuditEnd = ChainEnd & Pick<RevisionRow, "auditAt">;

/** Creates the counter of a tenant if it is missing, outside the transaction of the change. */
export async function ensureCounter(current: Adapter, adapter: DBAdapter, tenant: string): Promise<void> {
  const counter = counterOf(tenant);
  const existing = counting.get(adapter) ?? new Set();
  counting.set(adapter, existing);
  if (existing.has(counter)) return;
  await ensureRevision(current, counterName(counter), counter);
  // The host may roll back its own transaction.
  if (current === adapter) existing.add(counter);
}

/**
 * Takes the next number of a tenant's counter and stores it with the end of the audit log. Changes of tenants with the same
 * counter wait from here to the commit.
 */
export async function countChange(
  tx: Adapter,
  tenant: string,
  end: AuditEnd,
  tables: HostTables | undefined,
): Promise<void> {
  if (tables !== undefined && (await countDirectly(tables, tenant, end))) return;
  await moveChainEnd(tx, tenant, { ...end, seq: await takeSeq(tx, tenant) });
}

/** The same in one round trip on PostgreSQL. False if there is no counter. */
async function countDirectly(tables: HostTables, tenant: string, end: AuditEnd): Promise<boolean> {
  const c = namesIn(tables);
  const text = `with counter as (
      update ${c.table} set ${c.revision} = ${c.revision} + 1 where ${c.tenant} = $1 returning ${c.revision} as seq
    ) update ${c.table} set ${c.revision} = $3, ${c.auditHash} = $4, ${c.auditAt} = $5, ${c.seq} = counter.seq
    from counter where ${c.tenant} = $2 returning 1`;
  const values = [counterName(counterOf(tenant)), tenant, end.revision, end.auditHash, end.auditAt];
  return (await tables.query(REVISION_TIMEOUT_MS, text, values)).length > 0;
}

/** The names of the table and its columns, quoted. */
function namesIn(tables: HostTables) {
  const column = (field: keyof RevisionRow) => tables.column(model, field);
  const ends = { revision: column("revision"), auditHash: column("auditHash"), auditAt: column("auditAt") };
  const keys = { tenant: column("tenant"), counter: column("counter"), seq: column("seq") };
  return { table: tables.table(model), ...ends, ...keys };
}

async function takeSeq(tx: Adapter, tenant: string): Promise<number> {
  const counter = counterOf(tenant);
  const row = await tx.incrementOne<RevisionRow>({
    model,
    where: [{ field: "tenant", value: counterName(counter) }],
    increment: { revision: 1 },
  });
  if (row !== null) return row.revision;
  // Another program has deleted the row. Processes notice that the counter begins again, and read all of its tenants.
  const data = { ...firstRow(counterName(counter), counter), revision: 1 };
  await tx.create<RevisionRow>({ model, data });
  return 1;
}

/** The changes after the numbers `since`: one query for the counters, and one for each that moved. */
export async function readCounted(adapter: Adapter, since: Counts): Promise<CountedChanges> {
  const counters = await adapter.findMany<RevisionRow>({
    model,
    where: [{ field: "tenant", operator: "in", value: [...NAMES] }],
    limit: COUNTERS,
  });
  const read: ReadRow[] = [];
  for (const { counter, revision: count } of counters) {
    const last = counter === null ? undefined : since[counter];
    read.push({ counter, count });
    if (last === undefined || count <= last) continue;
    const rows = await adapter.findMany<RevisionRow>({
      model,
      where: [
        { field: "counter", value: counter },
        { field: "seq", operator: "gt", value: last },
      ],
      limit: MAX_TENANTS + 1,
    });
    for (const row of rows) read.push({ counter, count, changed: row });
  }
  return countedOf(since, read);
}

/** The same in one query on PostgreSQL without the adapter. */
export async function readCountedDirectly(tables: HostTables, since: Counts): Promise<CountedChanges> {
  const c = namesIn(tables);
  const last = `($2::int[])[one.${c.counter} + 1]`;
  const text = `select one.${c.counter} as "counter", one.${c.revision} as "count", t.${c.tenant} as "tenant",
      t.${c.revision} as "revision", t.${c.auditHash} as "auditHash",
      current_setting('transaction_read_only') as "readOnly"
    from ${c.table} one left join lateral (
      select * from ${c.table} r where one.${c.revision} > ${last}
        and r.${c.counter} = one.${c.counter} and r.${c.seq} > ${last} limit ${MAX_TENANTS + 1}
    ) t on true where one.${c.tenant} = any ($1)`;
  const known = NAMES.map((_, counter) => since[counter] ?? null);
  const rows = await tables.query(REVISION_TIMEOUT_MS, text, [NAMES, known]);
  const read = rows.map(({ counter, count, tenant, revision, auditHash }): ReadRow => {
    const end = { tenant: String(tenant), revision: Number(revision), auditHash: String(auditHash) };
    return { counter: Number(counter), count: Number(count), ...(tenant !== null && { changed: end }) };
  });
  const isReadOnly = rows[0] && rows[0]["readOnly"] === "on";
  return { ...countedOf(since, read), ...(isReadOnly !== undefined && { isReadOnly }) };
}

/** A counter, with one of the tenants that changed. */
interface ReadRow {
  readonly counter: number | null;
  readonly count: number;
  readonly changed?: ChainEnd & { readonly tenant: string };
}

function countedOf(since: Counts, read: readonly ReadRow[]): CountedChanges {
  const counts: number[] = Array(COUNTERS).fill(0);
  const changed = NAMES.map(() => new Map<string, ChainEnd>());
  for (const { counter, count, changed: end } of read) {
    if (counter === null) continue;
    counts[counter] = count;
    if (end !== undefined) changed[counter]?.set(end.tenant, end);
  }
  const ends = new Map<string, ChainEnd>();
  const unknown = new Set<number>();
  for (const [counter, count] of counts.entries()) {
    const last = since[counter];
    const tenants = changed[counter] ?? new Map();
    // A counter that went back: a backup was restored. A number without a row: another program has changed the table.
    const isLost = last === undefined || count < last || (count > last && tenants.size === 0);
    if (isLost || tenants.size > MAX_TENANTS) unknown.add(counter);
    else for (const [tenant, end] of tenants) ends.set(tenant, end);
  }
  return { counts, ends, unknown };
}
