/** Checks by their versions whether rows of Better Auth's own tables have changed, many in one query. */
import { PostgresArray } from "./array.ts";
import { COMPARISON_TIMEOUT_MS, type HostTables } from "./host-tables.ts";
import { isUnstorable, type PostgresRow } from "./pool.ts";

/**
 * A row that is written gets a higher version. Methods return undefined if PostgreSQL cannot tell: it does not know the
 * table by its name, the table is a view, or no row can have one of the keys.
 */
export interface RowVersions {
  /** The versions of the rows that exist, by key. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, number> | undefined>;
  /** Whether all these rows have these versions. Costs a tenth of reading them. */
  areCurrent(rows: ReadonlyMap<string, number>): Promise<boolean | undefined>;
}

export function createRowVersions(host: HostTables, model: string, key: string): RowVersions {
  const column = host.column(model, key);
  // `xmin` is the transaction that wrote the row. The parameter takes the type of the column.
  const rows = `from ${host.table(model)} where ${column} = any ($1)`;
  const versions = `select ${column}::text as key, xmin::text as version ${rows}`;
  const sum = `select count(*)::int as "count", sum(xmin::text::bigint)::text as "sum" ${rows}`;

  async function query(text: string, keys: Iterable<string>): Promise<PostgresRow[] | undefined> {
    const array = new PostgresArray();
    for (const one of keys) array.addText(one);
    try {
      return await host.query(COMPARISON_TIMEOUT_MS, text, [array.literal() ?? "{}"]);
    } catch (error) {
      if (isUnstorable(error)) return undefined;
      throw error;
    }
  }

  const ask = (text: string, keys: Iterable<string>) =>
    host.ask(
      () => query(text, keys),
      async () => undefined,
    );

  return {
    async read(keys) {
      const found = await ask(versions, keys);
      return found && new Map(found.map((row) => [String(row["key"]), Number(row["version"])]));
    },
    async areCurrent(expected) {
      if (expected.size === 0) return true;
      const [found] = (await ask(sum, expected.keys())) ?? [];
      if (found === undefined) return undefined;
      let total = 0;
      for (const version of expected.values()) total += version;
      // Versions only rise, so equal sums over equally many rows are sums of the same versions.
      return Number(found["count"]) === expected.size && Number(found["sum"]) === total;
    },
  };
}
