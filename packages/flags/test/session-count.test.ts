/** How sessions are counted where Better Auth is on the pool of the option `postgres`. */
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { organization } from "better-auth/plugins";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type SessionCount, sessionCount } from "../src/server/fast/session-count.ts";
import { freshPostgres } from "./databases.ts";

const AT = new Date("2026-06-01T12:00:00Z");
/** All of them mean something to PostgreSQL in an array. */
const NAMES = ["plain", 'a"quote', "back\\slash", "com,ma", "{brace}", "NULL"];
const SINCE = new Date(AT.getTime() + 1);

const sessionOf = (name: string) => ({
  token: `${name}'s token`,
  userId: name,
  expiresAtMs: AT.getTime() + 3_600_000,
  touchedAtMs: AT.getTime(),
});
const SESSIONS = NAMES.map(sessionOf);

/** A host whose tables have names of their own, and people in it. */
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
  const create = (model: string, data: Record<string, unknown>) =>
    context.adapter.create({ model, data, forceAllowId: true });
  await create("organization", { id: "org", name: "Org", slug: "org", createdAt: AT });
  for (const [i, name] of NAMES.entries()) {
    const times = { createdAt: AT, updatedAt: AT };
    await create("user", { id: name, name, email: `${i}@example.com`, emailVerified: true, ...times });
    const { token, userId, expiresAtMs } = sessionOf(name);
    await create("session", { id: name, token, userId, expiresAt: new Date(expiresAtMs), ...times });
    await create("member", { id: name, userId, organizationId: "org", role: "owner", createdAt: AT });
  }
  const ordinary = sessionCount(context, undefined);
  return { context, pool, connect, ordinary };
}

describe("counted by a join", () => {
  test("nothing has changed where all are as they were, whatever the tables are called and the values hold", async () => {
    const { context, pool } = await setUp();
    const adapter = vi.spyOn(context.adapter, "count");
    const count = sessionCount(context, pool);
    expect(await count.changed(SESSIONS, SINCE)).toBe(0);
    expect(await count.changed([...SESSIONS, ...SESSIONS], SINCE)).toBe(0);
    expect(await count.changed([], SINCE)).toBe(0);
    expect(await count.moved(new Set(NAMES), "owner")).toBe(0);
    expect(adapter).not.toHaveBeenCalled();
  });

  test("times may be kept with a time zone in one table and without in the other", async () => {
    const { context, pool } = await setUp();
    await pool.query(`alter table "Our People" alter column "changed at" type timestamp`);
    const adapter = vi.spyOn(context.adapter, "count");
    const days = (count: number) => new Date(AT.getTime() + count * 86_400_000);
    const count = sessionCount(context, pool);
    expect(await count.changed(SESSIONS, days(2))).toBe(0);
    expect(await count.changed(SESSIONS, days(-2))).toBe(6);
    expect(adapter).not.toHaveBeenCalled();
  });

  test("as many have changed as by Better Auth's own way", async () => {
    const { context, pool, ordinary } = await setUp();
    const count = sessionCount(context, pool);
    const { adapter } = context;
    const both = async (question: (count: SessionCount) => Promise<number>) => [
      await question(count),
      await question(ordinary),
    ];
    expect(await both(({ changed }) => changed(SESSIONS, AT))).toEqual([6, 6]);
    expect(await both(({ changed }) => changed([...SESSIONS, sessionOf("nobody")], SINCE))).toEqual([1, 1]);
    expect(await both(({ moved }) => moved(new Set([...NAMES, "nobody"]), "owner"))).toEqual([1, 1]);
    expect(await both(({ moved }) => moved(new Set(NAMES), "admin"))).toEqual([6, 6]);

    const update = { updatedAt: SINCE };
    await adapter.update({ model: "user", where: [{ field: "id", value: "plain" }], update });
    expect(await both(({ changed }) => changed(SESSIONS, SINCE))).toEqual([1, 1]);
    await adapter.update({ model: "session", where: [{ field: "userId", value: "NULL" }], update });
    await adapter.delete({ model: "session", where: [{ field: "userId", value: "com,ma" }] });
    // Sessions and users together; Better Auth's own way stops at the sessions.
    expect(await both(({ changed }) => changed(SESSIONS, SINCE))).toEqual([3, 2]);
  });
});

test("sessions are left to Better Auth where the pool is not the one that it uses itself", async () => {
  const { context, connect } = await setUp();
  const { database: other, close } = connect();
  onTestFinished(close);
  const used = vi.spyOn(other, "connect");
  expect(await sessionCount(context, other).changed(SESSIONS, SINCE)).toBe(0);
  expect(used).not.toHaveBeenCalled();
});

test("sessions are left to Better Auth from the first table on that PostgreSQL does not know", async () => {
  const { context, pool } = await setUp();
  const { user, ...others } = context.tables;
  if (user === undefined) throw new Error("There is no table of users.");
  const misled = { ...context, tables: { ...others, user: { ...user, modelName: "nobody" } } };
  const byAdapter = vi.spyOn(context.adapter, "count");
  const count = sessionCount(misled, pool);
  expect(await count.changed(SESSIONS, SINCE)).toBe(0);
  expect(byAdapter).toHaveBeenCalledTimes(2);
  expect(await count.moved(new Set(NAMES), "owner")).toBe(0);
  expect(byAdapter).toHaveBeenCalledTimes(3);
});
