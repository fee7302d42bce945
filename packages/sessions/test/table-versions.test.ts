/** Changed rows of one table, found by their versions in PostgreSQL. */
import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { expect, onTestFinished, test } from "vitest";
import { createTableVersions } from "../src/watched/table-versions.ts";
import { FieldRow } from "../src/watched/watched-fields.ts";
import { onPostgresVersions } from "./postgres-versions.ts";

/** Every one has a meaning to PostgreSQL within an array, or to a list of lines. */
const IDS = ["plain", 'a"quote', "back\\slash", "com,ma", "{brace}", "NULL", "two\nlines"];

/** A host with users, whose table and columns may have names of their own. */
async function setUp(user: BetterAuthOptions["user"] = {}, generateId: "uuid" | false = false) {
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 2 });
  onTestFinished(async () => {
    await pool.end();
    await drop();
  });
  const auth = betterAuth({
    secret: "a secret for tests that is long enough 0123456789",
    baseURL: "http://localhost",
    database: pool,
    logger: { disabled: true },
    telemetry: { enabled: false },
    user,
    ...(generateId && { advanced: { database: { generateId } } }),
  });
  await (await getMigrations(auth.options)).runMigrations();
  const context = await auth.$context;
  if (!generateId)
    for (const [at, id] of IDS.entries()) {
      const data = { id, name: id, email: `${at}@example.com`, emailVerified: true };
      await context.adapter.create({ model: "user", data, forceAllowId: true });
    }
  const versions = createTableVersions<string>(context as never, "user", "id");
  const rows = IDS.map((id) => new FieldRow<string>(id));
  /** The ids that have changed, whose versions are known and whose fields are read from then on. */
  async function changed(of: readonly FieldRow<string>[] = rows): Promise<string[] | undefined> {
    const found = await versions?.findChanged(of);
    for (const [row, version] of found ?? []) {
      row.version = version;
      row.comparedAtMs = performance.now();
      row.fields = version === undefined ? undefined : "read";
    }
    return found && [...found.keys()].map(({ key }) => key).sort();
  }
  return { pool, rows, changed };
}

onPostgresVersions(() => {
  test("a row is reported once, and again after a change, a change back and its replacement", async () => {
    const { pool, changed } = await setUp({ modelName: "Our People" });
    const rename = (name: string) =>
      pool.query(`update "Our People" set name = $1 where id = 'plain'`, [name]);
    expect(await changed()).toEqual([...IDS].sort());
    expect(await changed()).toEqual([]);
    await rename("new");
    expect(await changed()).toEqual(["plain"]);
    await rename("new");
    expect(await changed()).toEqual(["plain"]);
    await rename("other");
    await rename("new");
    expect(await changed()).toEqual(["plain"]);
    await pool.query(`create table kept as select * from "Our People" where id = 'NULL'`);
    await pool.query(`delete from "Our People" where id = 'NULL'`);
    await pool.query(`insert into "Our People" select * from kept`);
    expect(await changed()).toEqual(["NULL"]);
    await pool.query(`delete from "Our People" where id = 'com,ma'`);
    expect(await changed()).toEqual(["com,ma"]);
  });

  test("a row that is read, locked or vacuumed keeps its version", async () => {
    const { pool, changed } = await setUp();
    await changed();
    await pool.query(`select * from "user" for update`);
    await pool.query(`vacuum freeze "user"`);
    expect(await changed()).toEqual([]);
  });

  test("a row that does not exist is read every time", async () => {
    const { rows, changed } = await setUp();
    const missing = new FieldRow<string>("missing");
    await changed([missing, ...rows]);
    expect(await changed([missing, ...rows])).toEqual(["missing"]);
  });

  test("a key that no row can have does not hide the others", async () => {
    const { pool, changed } = await setUp({}, "uuid");
    const {
      rows: [ada],
    } = await pool.query(
      `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt") values (gen_random_uuid(), 'Ada', 'ada@example.com', true, now(), now()) returning id::text`,
    );
    const [known, wrong] = [new FieldRow<string>(ada.id), new FieldRow<string>("no uuid")];
    expect(await changed([known, wrong])).toEqual([ada.id, "no uuid"].sort());
    known.fields = "read";
    expect(await changed([known, wrong])).toContain(ada.id);
    expect(await changed([known, wrong])).toEqual(["no uuid"]);
  });

  test("there are no versions of a view, and of a table of another name", async () => {
    for (const sql of [
      `alter table "user" rename to people; create view "user" as select * from people`,
      `alter table "user" rename to people`,
    ]) {
      const { pool, changed } = await setUp();
      await pool.query(sql);
      expect(await changed()).toBeUndefined();
      expect(await changed()).toBeUndefined();
    }
  });
});
