/** Finds changed rows of one table in PostgreSQL by their versions, thousands in one query. */
import type { HostContext } from "../identify/request.ts";
import { isOtherForm } from "./field-reader.ts";
import { HostPool, isNotSupported, isVersion } from "./host-pool.ts";
import type { FieldRow } from "./watched-fields.ts";
import type { Comparison } from "./watched-rows.ts";

/** Rows in one query. Preparing it for more would delay other requests by several milliseconds. */
const MAX_BLOCK = 1000;

/** Undefined where the rows are not in PostgreSQL, or not reached by a pool of `pg`. */
export function createTableVersions<Fields>(
  context: Pick<HostContext, "options" | "tables">,
  model: string,
  key: string,
): Comparison<FieldRow<Fields>> | undefined {
  const pool = HostPool.of(context);
  if (pool === undefined) return undefined;
  const column = pool.column("t", model, key);
  // `xmin` is the transaction that wrote the row. The third parameter takes the type of the column.
  const text =
    `select known.at, found.version from unnest($1::text[], $2::text[]) ` +
    `with ordinality as known (key, version, at) left join ` +
    `(select ${column}::text as key, t.xmin::text as version from ${pool.table(model)} t where ${column} = any ($3)) found ` +
    `on found.key = known.key where known.version is distinct from found.version`;
  let isSupported = true;

  async function compareBlock(
    block: readonly FieldRow<Fields>[],
    changed: Map<FieldRow<Fields>, string | undefined>,
  ): Promise<void> {
    const keys = block.map((row) => row.key);
    const versions = block.map(({ version }) => version ?? null);
    try {
      for (const { at, version } of (await pool?.query(text, [keys, versions, keys])) ?? []) {
        const row = block[Number(at) - 1];
        const found = typeof version === "string" ? version : undefined;
        if (found !== undefined && !isVersion(found)) isSupported = false;
        if (row !== undefined) changed.set(row, found);
      }
    } catch (error) {
      if (isNotSupported(error)) isSupported = false;
      // No row can have one of the keys, so it is read alone.
      else if (isOtherForm(error)) for (const row of block) changed.set(row, undefined);
      else throw error;
    }
  }

  return {
    byValueMs: 600_000,
    minByValue: 0,
    async findChanged(rows) {
      const changed = new Map<FieldRow<Fields>, string | undefined>();
      const compared: FieldRow<Fields>[] = [];
      for (const row of rows) {
        // A key without a row may have a form that the database refuses, with the whole query.
        if (row.isMissing) changed.set(row, undefined);
        else {
          if (row.version === undefined) changed.set(row, undefined);
          compared.push(row);
        }
      }
      for (let start = 0; isSupported && start < compared.length; start += MAX_BLOCK)
        await compareBlock(compared.slice(start, start + MAX_BLOCK), changed);
      return isSupported ? changed : undefined;
    },
  };
}
