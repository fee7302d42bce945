/** The databases the suites run on: a fresh one each time, and a connection to it for each process a test plays. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createMariadbDatabase, createPostgresDatabase } from "@halyard/services";
import { createPool, type Pool as MysqlPool } from "mysql2/promise";
import { type PoolConfig, Pool as PostgresPool } from "pg";

export interface FreshDatabase<Driver> {
  /** A connection, or a pool of them, of its own, as another process would have. */
  connect(): { database: Driver; close(): Promise<void> };
  drop(): Promise<void>;
}

export interface PostgresOptions {
  /** What the server is told on connecting, such as `-c name=value`. */
  readonly options?: string;
}

/** Its connections can be told more than where the database is. */
export interface FreshPostgres extends FreshDatabase<PostgresPool> {
  connect(config?: PoolConfig): { database: PostgresPool; close(): Promise<void> };
}

export async function freshPostgres({ options }: PostgresOptions = {}): Promise<FreshPostgres> {
  const { url, drop } = await createPostgresDatabase();
  return {
    connect(config) {
      const database = new PostgresPool({
        connectionString: url,
        max: 5,
        ...(options && { options }),
        ...config,
      });
      // The pool has ended before its sockets have; one that is cut when the database is dropped is nobody's loss.
      database.on("error", () => {});
      return { database, close: () => database.end() };
    },
    drop,
  };
}

export async function freshMariadb(): Promise<FreshDatabase<MysqlPool>> {
  const { url, drop } = await createMariadbDatabase();
  return {
    connect() {
      const database = createPool({ uri: url, timezone: "Z", connectionLimit: 5 });
      return { database, close: () => database.end() };
    },
    drop,
  };
}

export async function freshSqlite(): Promise<FreshDatabase<DatabaseSync>> {
  const directory = mkdtempSync(join(tmpdir(), "halyard-flags-"));
  return {
    connect() {
      const database = new DatabaseSync(join(directory, "app.db"), { timeout: 5000 });
      return { database, close: async () => database.close() };
    },
    drop: async () => rmSync(directory, { recursive: true }),
  };
}
