/** Where users and flags are kept: the PostgreSQL database that `DATABASE_URL` names, or memory. */
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";

export interface Database {
  /** As Better Auth takes it. */
  readonly driver: DatabaseSync | Pool;
  close(): Promise<void>;
}

export function openDatabase(url: string | undefined): Database {
  if (url === undefined) {
    const driver = new DatabaseSync(":memory:");
    return { driver, close: async () => driver.close() };
  }
  const driver = new Pool({ connectionString: url });
  driver.on("error", (error) => console.error("An idle database connection was lost.", error.message));
  return { driver, close: () => driver.end() };
}
