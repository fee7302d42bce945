/** Changed sessions and memberships, found by the option `postgres` and by Better Auth's adapter. */
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { organization } from "better-auth/plugins";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createSessionChanges, type SessionChanges } from "../../sessions/src/watched/session-changes.ts";
import { HostTables, type TableHost } from "../src/store/postgres/host-tables.ts";
import type { PostgresPool } from "../src/store/postgres/pool.ts";
import { createSessionRowsQuery } from "../src/store/postgres/session-rows.ts";
import { freshPostgres } from "./databases.ts";

const AT = new Date("2026-06-01T12:00:00Z");
/** Every name has a meaning to PostgreSQL within an array. */
const NAMES = ["plain", 'a"quote', "back\\slash", "com,ma", "{brace}", "NULL"];
const SINCE = new Date(AT.getTime() + 1);

const tokenOf = (name: string) => `${name}'s token`;
const sessionOf = (name: string) => ({ token: tokenOf(name), userId: name, changedAtMs: AT.getTime() });
const SESSIONS = NAMES.map(sessionOf);

/** A host with users, whose tables and columns have names of their own. */
async function setUp() {
  const { connect, drop } = await freshPostgres();
  onTestFinished(drop);
  const { database: pool, close } = connect();
  onTestFinished(close);
  const auth = betterAuth({
    secret: "a secret of no importance for a test",
    baseURL: "http://localhost",
    database: pool,
    logger: { disabled: true },
    user: { modelName: "Our People", fields: { updatedAt: "changed at" } },
    session: { fields: { token: "proof" } },
    plugins: [organization()],
  });
  await (await getMigrations(auth.options)).runMigrations();
  const context = await auth.$context;
  const { adapter } = context;
  const create = (model: string, data: Record<string, unknown>) =>
    adapter.create({ model, data, forceAllowId: true });
  await create("organization", { id: "org", name: "Org", slug: "org", createdAt: AT });
  for (const [i, name] of NAMES.entries()) {
    const times = { createdAt: AT, updatedAt: AT };
    await create("user", { id: name, name, email: `${i}@example.com`, emailVerified: true, ...times });
    const expiresAt = new Date(AT.getTime() + 3_600_000);
    await create("session", { id: name, token: tokenOf(name), userId: name, expiresAt, ...times });
    await create("member", { id: name, userId: name, organizationId: "org", role: "owner", createdAt: AT });
  }
  const byAdapter = createSessionChanges(adapter);
  const on = (host: TableHost, given: PostgresPool | undefined): SessionChanges =>
    createSessionRowsQuery(HostTables.on(host, given), byAdapter);
  return { context, pool, connect, on, byAdapter };
}

const listOf = async (changed: Promise<ReadonlySet<string>>) => [...(await changed)].sort();

describe("with the option `postgres`", () => {
  test("unchanged rows are not reported, whatever the tables are called and the values contain", async () => {
    const { context, pool, on } = await setUp();
    const count = vi.spyOn(context.adapter, "count");
    const changes = on(context, pool);
    expect(await listOf(changes.changedSessions(SESSIONS, SINCE))).toEqual([]);
    expect(await listOf(changes.changedSessions([...SESSIONS, ...SESSIONS], SINCE))).toEqual([]);
    expect(await listOf(changes.changedSessions([], SINCE))).toEqual([]);
    expect(await listOf(changes.changedMembers(new Set(NAMES), "owner"))).toEqual([]);
    expect(count).not.toHaveBeenCalled();
  });

  test("one table may store times with a time zone and the other without", async () => {
    const { context, pool, on } = await setUp();
    await pool.query(`alter table "Our People" alter column "changed at" type timestamp`);
    const count = vi.spyOn(context.adapter, "count");
    const days = (number: number) => new Date(AT.getTime() + number * 86_400_000);
    const changes = on(context, pool);
    expect(await listOf(changes.changedSessions(SESSIONS, days(2)))).toEqual([]);
    expect(await listOf(changes.changedSessions(SESSIONS, days(-2)))).toHaveLength(6);
    expect(count).not.toHaveBeenCalled();
  });

  test("the same changes are found as by Better Auth's adapter", async () => {
    const { context, pool, on, byAdapter } = await setUp();
    const direct = on(context, pool);
    const { adapter } = context;
    const expectBoth = async (
      find: (changes: SessionChanges) => Promise<ReadonlySet<string>>,
      expected: readonly string[],
    ) => {
      for (const changes of [direct, byAdapter]) {
        expect(await listOf(find(changes))).toEqual([...expected].sort());
      }
    };
    const all = NAMES.map(tokenOf);
    await expectBoth(({ changedSessions }) => changedSessions(SESSIONS, AT), all);
    await expectBoth(
      ({ changedSessions }) => changedSessions([...SESSIONS, sessionOf("nobody")], SINCE),
      [tokenOf("nobody")],
    );
    await expectBoth(
      ({ changedMembers }) => changedMembers(new Set([...NAMES, "nobody"]), "owner"),
      ["nobody"],
    );
    await expectBoth(({ changedMembers }) => changedMembers(new Set(NAMES), "admin"), NAMES);

    const update = { updatedAt: SINCE };
    await adapter.update({ model: "user", where: [{ field: "id", value: "plain" }], update });
    await expectBoth(({ changedSessions }) => changedSessions(SESSIONS, SINCE), [tokenOf("plain")]);
    await adapter.update({ model: "session", where: [{ field: "userId", value: "NULL" }], update });
    await adapter.delete({ model: "session", where: [{ field: "userId", value: "com,ma" }] });
    const changed = ["plain", "NULL", "com,ma"].map(tokenOf);
    await expectBoth(({ changedSessions }) => changedSessions(SESSIONS, SINCE), changed);
  });
});

test("Better Auth's adapter is used where its database is another pool than the option `postgres`", async () => {
  const { context, connect, on } = await setUp();
  const { database: other, close } = connect();
  onTestFinished(close);
  const connecting = vi.spyOn(other, "connect");
  expect(await listOf(on(context, other).changedSessions(SESSIONS, SINCE))).toEqual([]);
  expect(connecting).not.toHaveBeenCalled();
});

test("Better Auth's adapter is used once PostgreSQL does not know a table by its name", async () => {
  const { context, pool, on } = await setUp();
  const { user, ...others } = context.tables;
  if (user === undefined) throw new Error("The host has no table of users.");
  const renamed = { ...context, tables: { ...others, user: { ...user, modelName: "nobody" } } };
  const count = vi.spyOn(context.adapter, "count");
  const changes = on(renamed, pool);
  expect(await listOf(changes.changedSessions(SESSIONS, SINCE))).toEqual([]);
  expect(count).toHaveBeenCalledTimes(2);
  expect(await listOf(changes.changedMembers(new Set(NAMES), "owner"))).toEqual([]);
  expect(count).toHaveBeenCalledTimes(3);
});
