/** Versions of rows in Better Auth's tables, as trusted attributes use them with the option `postgres`. */
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import type { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { HostTables } from "../src/store/postgres/host-tables.ts";
import { createRowVersions, type ReadVersions } from "../src/store/postgres/row-versions.ts";
import { freshPostgres } from "./databases.ts";

/** Every one has a meaning to PostgreSQL within an array. */
const IDS = ["plain", 'a"quote', "back\\slash", "com,ma", "{brace}", "NULL"];

/** A host with users, whose table and columns may have names of their own. */
async function setUp(user: BetterAuthOptions["user"] = {}) {
  const { connect, drop } = await freshPostgres();
  onTestFinished(drop);
  const { database: pool, close } = connect();
  onTestFinished(close);
  const auth = betterAuth({
    secret: "a secret of no importance for a test",
    baseURL: "http://localhost",
    database: pool,
    logger: { disabled: true },
    user,
  });
  await (await getMigrations(auth.options)).runMigrations();
  const context = await auth.$context;
  for (const [i, id] of IDS.entries()) {
    const data = { id, name: id, email: `${i}@example.com`, emailVerified: true };
    await context.adapter.create({ model: "user", data, forceAllowId: true });
  }
  const tables = HostTables.on(context, pool);
  if (tables === undefined) throw new Error("The host uses another pool.");
  return { pool, read: createRowVersions(tables, "user", "id") };
}

/** The ids whose version changes while `change` runs. */
async function changedBy(read: ReadVersions, change: () => Promise<unknown>): Promise<string[]> {
  const before = await read(IDS);
  await change();
  const after = await read(IDS);
  return IDS.filter((id) => before?.get(id) !== after?.get(id));
}

test("every row has a version, whatever its table is called and its id contains", async () => {
  const { read } = await setUp({ modelName: "Our People" });
  const versions = await read([...IDS, "nobody"]);
  expect([...(versions?.keys() ?? [])].sort()).toEqual([...IDS].sort());
  expect(await read([])).toEqual(new Map());
});

test("a row has another version after a change, a change back and its replacement, and no other row has", async () => {
  const { pool, read } = await setUp();
  const rename = (name: string) => pool.query(`update "user" set name = $1 where id = 'plain'`, [name]);
  expect(await changedBy(read, () => rename("new"))).toEqual(["plain"]);
  expect(await changedBy(read, () => rename("new"))).toEqual(["plain"]);
  const there = () => rename("other");
  const andBack = async () => {
    await there();
    await rename("new");
  };
  expect(await changedBy(read, andBack)).toEqual(["plain"]);
  const replace = async (client: Pool) => {
    const { rows } = await client.query(`delete from "user" where id = 'NULL' returning *`);
    expect(await changedBy(read, async () => undefined)).toEqual([]);
    const { id, name, email, createdAt, updatedAt } = rows[0];
    await client.query(
      `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt") values ($1, $2, $3, true, $4, $5)`,
      [id, name, email, createdAt, updatedAt],
    );
  };
  expect(await changedBy(read, () => replace(pool))).toEqual(["NULL"]);
});

test("a row that is read, locked or vacuumed keeps its version", async () => {
  const { pool, read } = await setUp();
  const disturb = async () => {
    await pool.query(`select * from "user" for update`);
    await pool.query(`vacuum freeze "user"`);
  };
  expect(await changedBy(read, disturb)).toEqual([]);
});

test("there are none for a view, for a table of another name, and for an id that no row can have", async () => {
  const { pool, read } = await setUp();
  expect(await read(["\0"])).toBeUndefined();
  expect((await read(["plain"]))?.size).toBe(1);
  await pool.query(`alter table "user" rename to people; create view "user" as select * from people`);
  expect(await read(["plain"])).toBeUndefined();
  await pool.query(`drop view "user"; alter table people rename to "user"`);
  expect(await read(["plain"])).toBeUndefined();
});
