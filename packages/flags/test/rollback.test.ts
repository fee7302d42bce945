/** Database set-ups that do not roll back a failed transaction: writes are refused, and everything else works. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import type { BetterAuthOptions } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { getAuthTables } from "better-auth/db";
import { Kysely, PostgresDialect } from "kysely";
import { afterEach, describe, expect, test } from "vitest";
import type { RevisionRow } from "../src/model/tables.ts";
import { freshMariadb, freshPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

const body = { key: "k", name: "N", type: "boolean", enabled: true, defaultValue: true };

async function expectRefusal(host: Host): Promise<void> {
  const admin = await host.person("admin", "admin");
  for (let attempt = 0; attempt < 2; attempt++) {
    const refused = await host.createFlag(body, admin);
    expect(refused.status).toBe(500);
    expect(refused.json.code).toBe("STORAGE_ERROR");
    expect(refused.json.message).toContain("does not roll back a failed transaction");
    expect(refused.json.message).toContain("`transaction: true`");
    expect(refused.json.message).not.toContain("\n");
  }
  expect(await host.adapter.findMany({ model: "featureFlag" })).toEqual([]);
  expect(await host.adapter.findMany<RevisionRow>({ model: "featureFlagRevision" })).toEqual([]);

  const evaluated = await host.evaluate({ flagKey: "k", default: "mine" }, await host.person("later"));
  expect(evaluated.json).toMatchObject({ value: "mine", reason: "not_found" });
}

describe("where a failed transaction is not rolled back, creating a flag is refused with the remedy", () => {
  test("Kysely given as { db, type }, which by itself means no transactions", async () => {
    const { connect, drop } = await freshPostgres();
    const { database: pool, close } = connect();
    cleanUp.push(drop, close);
    const db = new Kysely({ dialect: new PostgresDialect({ pool }) });

    const host = await startHost({ database: { db, type: "postgres" } });
    cleanUp.push(host.close);
    await expectRefusal(host);

    const remedied = await startHost({ database: { db, type: "postgres", transaction: true } });
    cleanUp.push(remedied.close);
    const signedIn = await remedied.person("admin-again", "admin");
    expect((await remedied.createFlag(body, signedIn)).status).toBe(201);
    expect((await remedied.evaluate({ flagKey: "k" })).json.value).toBe(true);
  });

  test("MariaDB tables of an engine without transactions, which no configuration shows", async () => {
    const { connect, drop } = await freshMariadb();
    const { database: pool, close } = connect();
    cleanUp.push(drop, close);
    const host = await startHost({ database: pool });
    cleanUp.push(host.close);
    await pool.query("alter table featureFlagRevision engine = MyISAM");
    await expectRefusal(host);
  });

  test("an adapter that says it has transactions and runs the work without one", async () => {
    const host = await startHost({
      database: (options: BetterAuthOptions): DBAdapter => {
        const names = Object.values(getAuthTables(options)).map(({ modelName }) => modelName);
        const adapter = memoryAdapter(Object.fromEntries(names.map((name) => [name, []])))(options);
        return { ...adapter, transaction: (work) => work(adapter) };
      },
      migrate: false,
    });
    cleanUp.push(host.close);
    await expectRefusal(host);
  });
});
