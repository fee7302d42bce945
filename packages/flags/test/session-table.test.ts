/** How thousands of sessions are watched where Better Auth is on the pool of the option `postgres`. */
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { organization } from "better-auth/plugins";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createPrincipals } from "../src/server/fast/principals.ts";
import { sessionCount } from "../src/server/fast/session-count.ts";
import { SessionTable } from "../src/server/fast/session-table.ts";
import { createSessionWatch } from "../src/server/fast/session-watch.ts";
import { freshPostgres } from "./databases.ts";

const AT = new Date("2026-06-01T12:00:00Z");
const HOUR = 3_600_000;
/** A busy machine is not what these tests are about. */
const PATIENT_MS = 10_000;
/** All of them mean something to PostgreSQL in an array. */
const NAMES = ["ann", 'a"quote', "back\\slash", "com,ma", "{brace}", "NULL"];
const OTHERS = NAMES.slice(1);

interface SetUp {
  /** As the table is told; Better Auth goes on with the right one. */
  readonly nameOfUsers?: string;
  /** What the pool does with each of its connections. */
  readonly greet?: string;
  readonly tableFrom?: number;
}

/** People who signed in an hour before, and a watch over them by a table, whose clock the test moves. */
async function setUp({ nameOfUsers, greet, tableFrom = 1 }: SetUp = {}) {
  const { connect, drop } = await freshPostgres();
  onTestFinished(drop);
  const { database: pool, close } = connect();
  onTestFinished(close);
  if (greet !== undefined) {
    await pool.query("create schema elsewhere");
    pool.on("connect", (client) => void client.query(greet));
  }
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

  let passedMs = HOUR;
  const clocks = { monotonicMs: () => passedMs, nowMs: () => AT.getTime() + passedMs };
  const { user } = context.tables;
  if (user === undefined) throw new Error("There is no table of users.");
  const modelName = nameOfUsers ?? user.modelName;
  const told = { ...context, tables: { ...context.tables, user: { ...user, modelName } } };
  const counted = sessionCount(context, pool);
  const asked = vi.spyOn(counted, "changed");
  const watch = createSessionWatch({
    ...clocks,
    adapter,
    count: counted,
    table: SessionTable.on(told, pool, PATIENT_MS),
    tableFrom,
    fields: { role: false, activeOrganizationId: true },
    intervalMs: 5,
  });
  const principals = createPrincipals({ ...clocks, watch });
  onTestFinished(() => principals.close());

  const remember = (name: string) =>
    principals.remember(
      name,
      {
        caller: { kind: "user", user: { id: name, email: `${name}@example.com` } },
        rows: {
          token: `${name}'s token`,
          userId: name,
          expiresAtMs: AT.getTime() + 9 * HOUR,
          touchedAtMs: AT.getTime(),
        },
        validUntilMs: AT.getTime() + 9 * HOUR,
      },
      principals.now(),
    );
  for (const name of NAMES) {
    const times = { createdAt: AT, updatedAt: AT };
    await create("user", {
      ...{ id: name, name, email: `${name}@example.com`, emailVerified: true, ...times },
    });
    const expiresAt = new Date(AT.getTime() + 9 * HOUR);
    await create("session", { id: name, token: `${name}'s token`, userId: name, expiresAt, ...times });
    await create("member", { id: name, userId: name, organizationId: "org", role: "owner", createdAt: AT });
  }
  const known = new Map(NAMES.map((name) => [name, remember(name)]));
  const statusOf = (name: string) => {
    const { isForgotten, confirmedAt } = known.get(name) ?? { isForgotten: true };
    return isForgotten ? "forgotten" : confirmedAt?.monotonicMs === passedMs ? "confirmed" : "open";
  };
  /** Moves the clock, and waits until everybody was asked for: who is still known, and who is not. */
  async function nextRound(names: readonly string[] = NAMES, ms = 4000) {
    passedMs += ms;
    for (const name of names) Object.assign(known.get(name) ?? {}, { usedAtMs: passedMs });
    await expect.poll(() => names.map(statusOf), { timeout: PATIENT_MS }).not.toContain("open");
    const all = (status: string) => names.filter((name) => statusOf(name) === status);
    return { confirmed: all("confirmed"), forgotten: all("forgotten") };
  }
  /** Those of PostgreSQL that belong to a table. */
  async function connections() {
    const { rows } = await pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where datname = current_database() and left(query, 40) like '%pg_temp.%'",
    );
    return rows.map(({ pid }) => pid);
  }
  const pass = (ms: number) => {
    passedMs += ms;
  };
  return { pool, told, adapter, asked, known, principals, pass, nextRound, connections };
}

describe("sessions in a table of PostgreSQL", () => {
  test("are confirmed without being sent, whatever the host's tables are called and the tokens hold", async () => {
    const { principals, nextRound, asked } = await setUp();
    principals.watch();
    for (let round = 0; round < 3; round++)
      expect(await nextRound()).toEqual({ confirmed: NAMES, forgotten: [] });
    expect(asked).not.toHaveBeenCalled();
  });

  test.each([
    ["the session is gone", { model: "session", field: "userId", update: undefined }],
    ["the user is gone", { model: "user", field: "id", update: undefined }],
    ["the session has changed", { model: "session", field: "userId", update: { updatedAt: new Date() } }],
    ["the user has changed", { model: "user", field: "id", update: { updatedAt: new Date() } }],
    [
      "the time of a change was set back",
      { model: "user", field: "id", update: { updatedAt: new Date("2020-01-01") } },
    ],
    ["the user has another role", { model: "member", field: "userId", update: { role: "member" } }],
  ])("are checked anew when %s", async (_what, { model, field, update }) => {
    const { principals, adapter, known, nextRound } = await setUp();
    for (const [name, principal] of known) principal.join("org", { id: name, role: "owner" });
    principals.watch();
    await nextRound();
    expect(await nextRound()).toEqual({ confirmed: NAMES, forgotten: [] });
    const where = [{ field, value: "ann" }];
    if (update === undefined) await adapter.deleteMany({ model, where });
    else await adapter.update({ model, where, update });
    expect(await nextRound()).toEqual({ confirmed: OTHERS, forgotten: ["ann"] });
  });

  test("are asked for in the ordinary way while the connection is gone, and then again by the table", async () => {
    const { principals, pool, connections, adapter, asked, nextRound } = await setUp();
    principals.watch();
    await nextRound();
    const [pid] = await connections();
    await pool.query("select pg_terminate_backend($1)", [pid]);
    await adapter.delete({ model: "session", where: [{ field: "userId", value: "ann" }] });
    expect(await nextRound()).toEqual({ confirmed: OTHERS, forgotten: ["ann"] });
    do {
      asked.mockClear();
      await nextRound();
    } while (asked.mock.calls.length > 0);
    expect(await connections()).toHaveLength(1);
    expect(await connections()).not.toContain(pid);
  });

  test("do not make the store seem down for longer than it was", async () => {
    const { principals, adapter, asked, pass, nextRound } = await setUp();
    principals.watch();
    await nextRound();
    asked.mockRejectedValueOnce(new Error("All connections are busy."));
    pass(5000);
    expect(await principals.recall("ann")).toMatchObject({ stale: true });
    await adapter.delete({ model: "session", where: [{ field: "userId", value: "ann" }] });
    // She has not been seen for long, and the others are as they were.
    await nextRound(OTHERS, 61_000);
    await nextRound(OTHERS);
    expect(await principals.recall("ann")).toBeUndefined();
  });

  test("are found where the pool's connections find them", async () => {
    const { principals, adapter, asked, nextRound } = await setUp({ greet: "set search_path to elsewhere" });
    principals.watch();
    expect(await nextRound()).toEqual({ confirmed: NAMES, forgotten: [] });
    await adapter.delete({ model: "session", where: [{ field: "userId", value: "ann" }] });
    expect(await nextRound()).toEqual({ confirmed: OTHERS, forgotten: ["ann"] });
    expect(asked).not.toHaveBeenCalled();
  });

  test("are asked for in the ordinary way where PostgreSQL does not know a table by its name", async () => {
    const { principals, asked, nextRound, connections } = await setUp({ nameOfUsers: "nobody" });
    principals.watch();
    for (let round = 0; round < 3; round++)
      expect(await nextRound()).toEqual({ confirmed: NAMES, forgotten: [] });
    expect(asked).toHaveBeenCalled();
    expect(await connections()).toEqual([]);
  });

  test("take no connection while they are few, and none when nobody watches", async () => {
    const few = await setUp({ tableFrom: NAMES.length + 1 });
    few.principals.watch();
    expect(await few.nextRound()).toEqual({ confirmed: NAMES, forgotten: [] });
    expect(few.asked).toHaveBeenCalled();
    expect(await few.connections()).toEqual([]);
    const many = await setUp({ tableFrom: NAMES.length });
    many.principals.watch();
    await many.nextRound();
    expect(await many.connections()).toHaveLength(1);
    many.principals.close();
    await expect.poll(many.connections, { timeout: PATIENT_MS }).toEqual([]);
  });

  test("leave it when they are no longer wanted", async () => {
    const { told, pool, known, adapter, connections } = await setUp();
    const table = SessionTable.on(told, pool, PATIENT_MS);
    const [ann, other] = [known.get("ann"), known.get("com,ma")];
    if (table === undefined || ann === undefined || other === undefined) throw new Error("Not set up.");
    await table.add([ann, other], new Date(AT.getTime() + 1));
    expect([table.has(ann), table.has(other)]).toEqual([true, true]);
    await table.remove((one) => one === ann);
    expect([table.has(ann), table.has(other)]).toEqual([false, true]);
    await adapter.deleteMany({ model: "session", where: [] });
    expect(await table.changed()).toEqual([other]);
    expect(await table.changed()).toEqual([]);
    table.close();
    await expect.poll(connections, { timeout: PATIENT_MS }).toEqual([]);
  });

  test("are not taken in when their rows have changed since", async () => {
    const { told, pool, known } = await setUp();
    const table = SessionTable.on(told, pool, PATIENT_MS);
    onTestFinished(() => table?.close());
    const all = [...known.values()];
    await table?.add(all, AT);
    expect(all.filter((one) => table?.has(one))).toEqual([]);
  });
});
