/** Better Auth's Drizzle adapter over a PostgreSQL pool, with a schema made from the host's options. */
import type { BetterAuthOptions } from "better-auth";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { getAuthTables } from "better-auth/db";
import { drizzle } from "drizzle-orm/node-postgres";
import { boolean, integer, type PgColumnBuilderBase, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import type { Pool } from "pg";
import type { Database } from "./store-host.ts";

export interface DrizzleOptions {
  /** Default: the adapter's own default, which is no transactions. */
  readonly transaction?: boolean;
}

/** The tables are those that Better Auth's migrations made in the same database. */
export function overDrizzle(
  pool: Database,
  options: BetterAuthOptions,
  { transaction }: DrizzleOptions,
): NonNullable<Database> {
  const schema = schemaOf(options);
  const db = drizzle({ client: pool as Pool, schema });
  return drizzleAdapter(db, {
    provider: "pg",
    schema,
    ...(transaction !== undefined && { transaction }),
  });
}

/** Builds at run time what `auth generate` writes into a file. */
function schemaOf(options: BetterAuthOptions) {
  return Object.fromEntries(
    Object.values(getAuthTables(options)).map(({ modelName, fields }) => {
      const columns: Record<string, PgColumnBuilderBase> = { id: text("id").primaryKey() };
      for (const [name, { type, fieldName = name, required }] of Object.entries(fields)) {
        const column = columnOf(type, fieldName);
        columns[name] = required === false ? column : column.notNull();
      }
      return [modelName, pgTable(modelName, columns)];
    }),
  );
}

function columnOf(type: unknown, name: string) {
  if (type === "boolean") return boolean(name);
  if (type === "number") return integer(name);
  if (type === "date") return timestamp(name, { withTimezone: true });
  return text(name);
}
