/** Opens the database: the PostgreSQL database of `DATABASE_URL`, or SQLite in memory. */
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";

export interface Database {
  /** The `database` option of Better Auth. */
  readonly driver: DatabaseSync | Pool;
  close(): Promise<void>;
}

export function openDatabase(url: string | undefined): Database {
  if (url === undefined) {
    const driver = new DatabaseSync(":memory:");
    return { driver, close: async () => driver.close() };
  }
  const driver = new Pool({ connectionString: url });
  driver.on("error", (error) =>
    console.error("An idle database connection was lost. The pool opens a new one.", error.message),
  );
  return { driver, close: () => driver.end() };
}
