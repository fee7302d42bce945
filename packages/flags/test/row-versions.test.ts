/** Versions of rows in Better Auth's tables, as trusted attributes use them with the option `postgres`. */
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { expect, onTestFinished, test } from "vitest";
import { HostTables } from "../src/store/postgres/host-tables.ts";
import { createRowVersions, type RowVersions } from "../src/store/postgres/row-versions.ts";
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
  return { pool, versions: createRowVersions(tables, "user", "id") };
}

/** The ids whose version changes while `change` runs. */
async function changedBy(versions: RowVersions, change: () => Promise<unknown>): Promise<string[]> {
  const before = (await versions.read(IDS)) ?? new Map<string, number>();
  expect(await versions.areCurrent(before)).toBe(true);
  await change();
  const after = await versions.read(IDS);
  const changed = IDS.filter((id) => before.get(id) !== after?.get(id));
  expect(await versions.areCurrent(before)).toBe(changed.length === 0);
  return changed;
}

test("every row has a version, whatever its table is called and its id contains", async () => {
  const { versions } = await setUp({ modelName: "Our People" });
  const found = await versions.read([...IDS, "missing"]);
  expect([...(found?.keys() ?? [])].sort()).toEqual([...IDS].sort());
  expect(await versions.read([])).toEqual(new Map());
});

test("a row has another version after a change, a change back and its replacement, and no other row has", async () => {
  const { pool, versions } = await setUp();
  const rename = (name: string) => pool.query(`update "user" set name = $1 where id = 'plain'`, [name]);
  expect(await changedBy(versions, () => rename("new"))).toEqual(["plain"]);
  expect(await changedBy(versions, () => rename("new"))).toEqual(["plain"]);
  const thereAndBack = async () => {
    await rename("other");
    await rename("new");
  };
  expect(await changedBy(versions, thereAndBack)).toEqual(["plain"]);
  const replace = async () => {
    const { rows } = await pool.query(`delete from "user" where id = 'NULL' returning *`);
    const { id, name, email, createdAt, updatedAt } = rows[0];
    await pool.query(
      `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt") values ($1, $2, $3, true, $4, $5)`,
      [id, name, email, createdAt, updatedAt],
    );
  };
  expect(await changedBy(versions, replace)).toEqual(["NULL"]);
  const remove = () => pool.query(`delete from "user" where id = 'plain'`);
  expect(await changedBy(versions, remove)).toEqual(["plain"]);
});

test("a row that is read, locked or vacuumed keeps its version", async () => {
  const { pool, versions } = await setUp();
  const disturb = async () => {
    await pool.query(`select * from "user" for update`);
    await pool.query(`vacuum freeze "user"`);
  };
  expect(await changedBy(versions, disturb)).toEqual([]);
});

test("there are none for a view, for a table of another name, and for an id that no row can have", async () => {
  const { pool, versions } = await setUp();
  expect(await versions.read(["\0"])).toBeUndefined();
  expect((await versions.read(["plain"]))?.size).toBe(1);
  await pool.query(`alter table "user" rename to people; create view "user" as select * from people`);
  expect(await versions.read(["plain"])).toBeUndefined();
  await pool.query(`drop view "user"; alter table people rename to "user"`);
  expect(await versions.read(["plain"])).toBeUndefined();
});
