/** Creates the databases for tests, with one connection for each process that a test simulates. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createMariadbDatabase, createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { createPool, type Pool as MysqlPool } from "mysql2/promise";
import type { PoolConfig, Pool as PostgresPool } from "pg";

export interface FreshDatabase<Driver> {
  /** Opens a separate connection or pool, as another process would have. */
  connect(): { database: Driver; close(): Promise<void> };
  drop(): Promise<void>;
}

export interface PostgresOptions {
  /** Options for the server at connection time, such as `-c name=value`. */
  readonly options?: string;
}

/** `connect` accepts settings of the pool. */
export interface FreshPostgres extends FreshDatabase<PostgresPool> {
  readonly url: string;
  connect(config?: PoolConfig): { database: PostgresPool; close(): Promise<void> };
}

export async function freshPostgres({ options }: PostgresOptions = {}): Promise<FreshPostgres> {
  const { url, drop } = await createPostgresDatabase();
  return { ...existingPostgres(url, options), drop };
}

/** A database that another process creates and drops. */
export function existingPostgres(url: string, options?: string): FreshPostgres {
  return {
    url,
    connect(config) {
      const database = openPool({
        connectionString: url,
        max: 5,
        ...(options && { options }),
        ...config,
      });
      return { database, close: () => database.end() };
    },
    drop: async () => {},
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

export interface FreshSqlite extends FreshDatabase<DatabaseSync> {
  readonly path: string;
}

export async function freshSqlite(): Promise<FreshSqlite> {
  const directory = mkdtempSync(join(tmpdir(), "halyard-flags-"));
  const path = join(directory, "app.db");
  return { ...existingSqlite(path), drop: async () => rmSync(directory, { recursive: true }) };
}

/** A file that another process creates and removes. */
export function existingSqlite(path: string): FreshSqlite {
  return {
    path,
    connect() {
      const database = new DatabaseSync(path, { timeout: 5000 });
      return { database, close: async () => database.close() };
    },
    drop: async () => {},
  };
}
