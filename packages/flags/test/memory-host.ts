/** Starts applications on in-memory databases, for tests that do not depend on the database. */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { type Host, type HostOptions, startHost } from "./host.ts";

export { newKey } from "./new-key.ts";

/** Starts a host with its own in-memory database for one test. */
export async function memoryHost(
  options: Omit<HostOptions, "database"> = {},
): Promise<Host & { db: DatabaseSync }> {
  const db = memoryDatabase();
  const host = await startHost({ ...options, database: db });
  onTestFinished(host.close);
  return { ...host, db };
}

/** Starts a host for all tests of a suite. Calls `use` with it before the first test. */
export function suiteHost(
  options: Omit<HostOptions, "database">,
  use: (host: Host) => Promise<void> | void,
): void {
  let host: Host | undefined;
  const db = new DatabaseSync(":memory:");
  beforeAll(async () => {
    host = await startHost({ ...options, database: db });
    await use(host);
  });
  afterAll(async () => {
    await host?.close();
    db.close();
  });
}

export function memoryDatabase(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  onTestFinished(() => db.close());
  return db;
}

/** The body of a new flag. */
export const flag = (fields: object = {}) => ({ key: "k", name: "N", type: "string" as const, ...fields });
