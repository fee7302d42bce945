/** Changed sessions, found by the versions of their rows in PostgreSQL. */
import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, organization } from "better-auth/plugins";
import { describe, expect, onTestFinished, test } from "vitest";
import { LiveSession } from "../src/watched/live-session.ts";
import { createRowVersions } from "../src/watched/row-versions.ts";
import { onPostgresVersions } from "./postgres-versions.ts";

const NAMES = ["plain", "a'quote", "back\\slash", "com,ma", "NULL"];
const DAY_MS = 86_400_000;

interface HostOptions {
  readonly more?: Partial<BetterAuthOptions>;
  readonly hasOrganizations?: boolean;
}

/** A host with users, each with a session and a membership in the active organization. */
async function setUp({ more = {}, hasOrganizations = true }: HostOptions = {}) {
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 2 });
  onTestFinished(async () => {
    await pool.end();
    await drop();
  });
  const options: BetterAuthOptions = {
    baseURL: "http://auth.example",
    secret: "a secret for tests that is long enough 0123456789",
    database: pool,
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [admin(), ...(hasOrganizations ? [organization()] : [])],
    ...more,
  };
  await (await getMigrations(options)).runMigrations();
  const context = await betterAuth(options).$context;
  const { adapter } = context;
  const times = { createdAt: new Date(), updatedAt: new Date() };
  const create = (model: string, data: Record<string, unknown>) =>
    adapter.create<Record<string, unknown>, { id: string }>({ model, data });
  const org = hasOrganizations
    ? await create("organization", { name: "Org", slug: "org", createdAt: new Date() })
    : undefined;
  for (const [at, name] of NAMES.entries()) {
    const email = `${at}@example.com`;
    const user = await create("user", { name, email, emailVerified: true, ...times });
    await create("session", {
      token: `${name}'s token`,
      userId: user.id,
      expiresAt: new Date(Date.now() + DAY_MS),
      ...(org && { activeOrganizationId: org.id }),
      ...times,
    });
    const member = { userId: user.id, organizationId: org?.id, role: "owner", createdAt: new Date() };
    if (org) await create("member", member);
  }
  const versions = createRowVersions(context);
  const sessions = NAMES.map((name) => new LiveSession(name, `${name}'s token`));
  /** The names of the changed sessions, whose versions are known from then on. */
  const changed = async (): Promise<string[] | undefined> => {
    const found = await versions?.findChanged(sessions);
    for (const [session, version] of found ?? []) session.version = version;
    return found && [...found.keys()].map(({ key }) => key).sort();
  };
  return { pool, sessions, changed };
}

onPostgresVersions(() => {
  describe.each<[string, HostOptions]>([
    ["by default", {}],
    ["without organizations", { hasOrganizations: false }],
    ["with UUIDs", { more: { advanced: { database: { generateId: "uuid" } } } }],
    ["with serial numbers", { more: { advanced: { database: { generateId: "serial" } } } }],
    [
      "with names of its own",
      {
        more: {
          user: { modelName: "Our People" },
          session: { fields: { token: "proof", userId: "whose" } },
        },
      },
    ],
  ])("on a host %s", (_name, options) => {
    test("a session is reported once, and again after a write to one of its rows", async () => {
      const { pool, changed } = await setUp(options);
      const user = `"${options.more?.user?.modelName ?? "user"}"`;
      const token = `"${options.more?.session?.fields?.token ?? "token"}"`;
      expect(await changed()).toEqual([...NAMES].sort());
      expect(await changed()).toEqual([]);
      // As by hand: without the time of the change.
      await pool.query(`update ${user} set image = 'new' where name = 'com,ma'`);
      expect(await changed()).toEqual(["com,ma"]);
      await pool.query(`update "session" set "userAgent" = 'new' where ${token} = 'NULL''s token'`);
      expect(await changed()).toEqual(["NULL"]);
      await pool.query(`delete from "session" where ${token} = 'plain''s token'`);
      expect(await changed()).toEqual(["plain"]);
      expect(await changed()).toEqual([]);
    });
  });

  test("a membership in the active organization that is changed, ended or begun is a change", async () => {
    const { pool, changed } = await setUp();
    await changed();
    const ofUser = `"userId" = (select id from "user" where name = 'plain')`;
    await pool.query(`update "member" set role = 'admin' where ${ofUser}`);
    expect(await changed()).toEqual(["plain"]);
    await pool.query(`create table ended as select * from "member" where ${ofUser}`);
    await pool.query(`delete from "member" where ${ofUser}`);
    expect(await changed()).toEqual(["plain"]);
    await pool.query(`insert into "member" select * from ended`);
    expect(await changed()).toEqual(["plain"]);
  });

  test("a transaction that is not committed is no change", async () => {
    const { pool, changed } = await setUp();
    await changed();
    const client = await pool.connect();
    await client.query("begin");
    await client.query(`update "user" set name = 'other' where name = 'plain'`);
    expect(await changed()).toEqual([]);
    await client.query("commit");
    client.release();
    expect(await changed()).toEqual(["plain"]);
  });

  test("a deleted session is reported although its version is not known", async () => {
    const { pool, changed } = await setUp();
    await pool.query(`delete from "session" where token = 'plain''s token'`);
    expect(await changed()).toContain("plain");
  });

  test("a session whose token is not one line is reported every time", async () => {
    const { pool, sessions, changed } = await setUp();
    await pool.query(`update "session" set token = E'two\\nlines' where token = 'plain''s token'`);
    for (const session of sessions) if (session.key === "plain") session.token = "two\nlines";
    expect(await changed()).toHaveLength(NAMES.length);
    expect(await changed()).toEqual(["plain"]);
    expect(await changed()).toEqual(["plain"]);
  });

  test.each([
    ["is a view", `alter table "user" rename to people; create view "user" as select * from people`],
    [
      "is a view with a column of that name",
      `alter table "user" rename to people; create view "user" as select *, '0'::xid as xmin from people`,
    ],
    ["does not exist", `alter table "member" rename to members`],
  ])("where a table %s, there are no versions", async (_what, sql) => {
    const { pool, changed } = await setUp();
    await pool.query(sql);
    expect(await changed()).toBeUndefined();
    expect(await changed()).toBeUndefined();
  });

  test("an outage is not taken for a database without versions", async () => {
    const broken = Object.assign(new Error("The connection broke."), { code: "57P01" });
    let isDown = true;
    const pool = {
      connect: () => undefined,
      options: {},
      Client: class {},
      query: async () => {
        if (isDown) throw broken;
        return { rows: [{ at: "1", version: "7,8" }] };
      },
    };
    const context = { options: { database: pool }, tables: {} };
    const versions = createRowVersions(context as unknown as Parameters<typeof createRowVersions>[0]);
    const session = new LiveSession("id", "token");
    await expect(versions?.findChanged([session])).rejects.toBe(broken);
    isDown = false;
    expect(await versions?.findChanged([session])).toEqual(new Map([[session, "7,8"]]));
  });
});
