import type { Where } from "@better-auth/core/db/adapter";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionChanges } from "../watched/session-changes.ts";
import { createValueComparison } from "../watched/session-values.ts";
import { createSessionWatch } from "../watched/session-watch.ts";
import { PrincipalCache } from "./principal-cache.ts";

type Row = Record<string, unknown>;

const START = Date.parse("2026-06-01T12:00:00Z");
const HOUR = 3_600_000;

/** An in-memory database that records its queries, and two clocks. */
function setUp({ maxValues = Number.POSITIVE_INFINITY, intervalMs = 1 } = {}) {
  let passedMs = 0;
  let setBackMs = 0;
  let isDown = false;
  const queries: { model: string; values: number }[] = [];
  const tables: Record<string, Row[]> = { session: [], user: [], member: [] };

  const fits = (row: Row, { field, operator = "eq", value }: Where) => {
    const stored = row[field];
    if (operator === "in") return Array.isArray(value) && (value as unknown[]).includes(stored);
    if (operator === "lt") return value instanceof Date && stored instanceof Date && stored < value;
    return stored === value;
  };
  const find = async (model: string, where: readonly Where[]) => {
    const values = where.flatMap(({ value }) => (Array.isArray(value) ? [value.length] : [])).at(0) ?? 1;
    queries.push({ model, values });
    if (isDown) throw new Error("down");
    if (values > maxValues) throw new Error("too many values");
    return (tables[model] ?? []).filter((row) => where.every((one) => fits(row, one)));
  };
  const count = async ({ model, where = [] }: { model: string; where?: Where[] | undefined }) =>
    (await find(model, where)).length;
  const clocks = { monotonicMs: () => passedMs, nowMs: () => START + passedMs - setBackMs };
  const findMany = async <T>({ model, where = [] }: { model: string; where?: Where[] | undefined }) =>
    (await find(model, where)) as T[];
  const watch = createSessionWatch({
    ...clocks,
    changes: createSessionChanges({ count, findMany }),
    findDifferent: createValueComparison({ findMany }, { role: true, activeOrganizationId: true }),
    intervalMs,
  });
  const principals = new PrincipalCache({ ...clocks, watch });

  /** A user whose rows changed an hour ago and whose session was verified now. */
  function signIn(name: string, changedAgoMs = HOUR) {
    const updatedAt = new Date(clocks.nowMs() - changedAgoMs);
    tables["session"]?.push({ token: `token-${name}`, updatedAt, activeOrganizationId: null });
    tables["user"]?.push({ id: name, email: `${name}@example.com`, role: "user", updatedAt });
    const principal = principals.remember(
      name,
      {
        caller: { kind: "user", user: { id: name, email: `${name}@example.com`, role: "user" } },
        credentialId: `token-${name}`,
        rows: { token: `token-${name}`, userId: name, changedAtMs: updatedAt.getTime() },
        validUntilMs: clocks.nowMs() + HOUR,
      },
      principals.now(),
    );
    if (principal === undefined) throw new Error("A change was made at the same time.");
    return principal;
  }
  return {
    principals,
    watch,
    tables,
    queries,
    signIn,
    pass: (ms: number) => {
      passedMs += ms;
    },
    setBack: (ms: number) => {
      setBackMs += ms;
    },
    setDown: (down: boolean) => {
      isDown = down;
    },
    change: (model: string, field: string, value: unknown, to: Row) => {
      const row = tables[model]?.find((one) => one[field] === value);
      Object.assign(row ?? {}, to);
    },
    remove: (model: string, field: string, value: unknown) => {
      tables[model] = (tables[model] ?? []).filter((row) => row[field] !== value);
    },
  };
}

describe("a verified caller", () => {
  test("is recalled without a query for 4.8 s, and then by counting the rows of the session", async () => {
    const { principals, queries, signIn, pass } = setUp();
    signIn("ann");
    expect(principals.recall("ann")).toMatchObject({ isStale: false });
    expect(queries).toEqual([]);
    pass(5000);
    expect(await principals.recall("ann")).toMatchObject({ isStale: false });
    expect(queries.map(({ model }) => model)).toEqual(["session", "user"]);
    expect(principals.recall("ann")).not.toBeInstanceOf(Promise);
  });

  test.each([
    ["the session is gone", (at: ReturnType<typeof setUp>) => at.remove("session", "token", "token-ann")],
    ["the user is gone", (at: ReturnType<typeof setUp>) => at.remove("user", "id", "ann")],
    [
      "the session has changed",
      (at: ReturnType<typeof setUp>) =>
        at.change("session", "token", "token-ann", { updatedAt: new Date(START + 2000) }),
    ],
    [
      "the user has changed",
      (at: ReturnType<typeof setUp>) => at.change("user", "id", "ann", { updatedAt: new Date(START + 2000) }),
    ],
  ])("must be verified again when %s", async (_what, happen) => {
    const at = setUp();
    at.signIn("ann");
    at.signIn("bob");
    happen(at);
    at.pass(4900);
    const [ann, bob] = await Promise.all([at.principals.recall("ann"), at.principals.recall("bob")]);
    expect(ann).toBeUndefined();
    expect(bob).toMatchObject({ isStale: false });
    expect(at.principals.recall("ann")).toBeUndefined();
  });

  test("must be verified again when a membership has changed or ended", async () => {
    for (const happen of ["change", "remove"] as const) {
      const at = setUp();
      const ann = at.signIn("ann");
      at.tables["member"]?.push({ id: "m1", role: "owner" });
      ann.addMembership("organization", { id: "m1", role: "owner" });
      at.pass(4900);
      expect(await at.principals.recall("ann")).toMatchObject({ isStale: false });
      if (happen === "change") at.change("member", "id", "m1", { role: "member" });
      else at.remove("member", "id", "m1");
      at.pass(4900);
      expect(await at.principals.recall("ann")).toBeUndefined();
    }
  });

  test("must be verified again when one of several memberships has ended; others need not", async () => {
    const at = setUp();
    const names = ["first", "ann", "bob", "cat"];
    const [, ann, bob] = names.map((name) => at.signIn(name));
    at.tables["member"]?.push(...["m1", "m2", "m3"].map((id) => ({ id, role: "owner" })));
    ann?.addMembership("acme", { id: "m1", role: "owner" });
    ann?.addMembership("other", { id: "m2", role: "owner" });
    bob?.addMembership("acme", { id: "m3", role: "owner" });
    at.pass(4900);
    at.remove("member", "id", "m2");
    // The first request starts a batch of its own; the other three share the next one.
    const recalled = await Promise.all(names.map((name) => at.principals.recall(name)));
    expect(recalled.map((found) => found?.isStale)).toEqual([false, undefined, false, false]);
  });

  test("must be verified again after a change so recent that clock skew could hide the next one", async () => {
    const { principals, queries, signIn, pass } = setUp();
    signIn("ann", 5000);
    pass(4900);
    expect(principals.recall("ann")).toBeUndefined();
    expect(queries).toEqual([]);
  });

  test("is removed when the session expires or Better Auth must renew it", () => {
    const { principals, signIn, pass } = setUp();
    signIn("ann");
    pass(HOUR);
    expect(principals.recall("ann")).toBeUndefined();
    expect(principals.size).toBe(0);
  });

  test("is removed at once when this process ends the session or changes the user", () => {
    const { principals, signIn } = setUp();
    signIn("ann");
    signIn("bob");
    principals.apply({ kind: "session", id: "token-ann" });
    principals.apply({ kind: "user", id: "bob" });
    expect([principals.recall("ann"), principals.recall("bob"), principals.size]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });
});

test("waiting requests share their queries, and a change among thousands is found by a few queries", async () => {
  const { principals, queries, signIn, pass, remove } = setUp();
  for (let user = 0; user < 3000; user++) signIn(`p${user}`);
  pass(4900);
  remove("session", "token", "token-p1234");
  const all = await Promise.all(Array.from({ length: 3000 }, (_, user) => principals.recall(`p${user}`)));
  expect(all.flatMap((found, user) => (found === undefined ? [user] : []))).toEqual([1234]);
  // One batch with the first caller alone, then one with all others: two counts each, and one read of the sessions.
  expect(queries.map(({ values }) => values)).toEqual([1, 1, 2999, 2999, 2999]);
});

test("a change is found in a batch with a session that changed later", async () => {
  const { principals, signIn, pass, change } = setUp();
  signIn("first");
  signIn("ann");
  pass(30_000);
  signIn("bob", 15_000);
  change("session", "token", "token-ann", { updatedAt: new Date(START + 10_000) });
  pass(4900);
  // The first request starts a batch of its own; the other two share the next one.
  const recalled = await Promise.all(["first", "ann", "bob"].map((name) => principals.recall(name)));
  expect(recalled.map((found) => found?.isStale)).toEqual([false, undefined, false]);
});

test("a database that refuses many parameters gets smaller queries and does not count as down", async () => {
  const { principals, queries, signIn, pass } = setUp({ maxValues: 100 });
  for (let user = 0; user < 500; user++) signIn(`p${user}`);
  pass(4900);
  const all = await Promise.all(Array.from({ length: 500 }, (_, user) => principals.recall(`p${user}`)));
  expect(all.every((found) => found?.isStale === false)).toBe(true);
  pass(4900);
  queries.length = 0;
  await Promise.all(Array.from({ length: 500 }, (_, user) => principals.recall(`p${user}`)));
  expect(Math.max(...queries.map(({ values }) => values))).toBeLessThanOrEqual(100);
});

test("while the session store is down, the last verification counts for at most ten minutes, marked as stale", async () => {
  const { principals, signIn, pass, setDown, queries } = setUp();
  signIn("ann");
  setDown(true);
  pass(5000);
  expect(await principals.recall("ann")).toMatchObject({ isStale: true });
  // A request does not wait for a session store that is known to be down.
  const queriesBefore = queries.length;
  expect(principals.recall("ann")).toMatchObject({ isStale: true });
  expect(queries).toHaveLength(queriesBefore);
  pass(9 * 60_000);
  expect(principals.recall("ann")).toMatchObject({ isStale: true });
  // The query in the background fails, too.
  await new Promise((resolve) => setTimeout(resolve, 10));
  setDown(false);
  pass(2000);
  void principals.recall("ann");
  await expect.poll(() => principals.recall("ann")).toMatchObject({ isStale: false });
  setDown(true);
  pass(10 * 60_000 + 1);
  expect(await principals.recall("ann")).toBeUndefined();
  expect(principals.recallStale("ann")).toBeUndefined();
});

test("sessions in use are checked in the background in one batch; unused ones are not", async () => {
  const { principals, queries, signIn, pass, remove } = setUp();
  for (let user = 0; user < 50; user++) signIn(`p${user}`);
  pass(61_000);
  for (let user = 50; user < 100; user++) signIn(`p${user}`);
  pass(3000);
  remove("session", "token", "token-p60");
  principals.startWatch();
  await expect.poll(() => principals.size).toBe(99);
  principals.close();
  expect(queries.every(({ values }) => values <= 50)).toBe(true);
  pass(3000);
  expect(principals.recall("p51")).toMatchObject({ isStale: false });
});

describe("many sessions in use", () => {
  const NAMES = Array.from({ length: 600 }, (_, at) => `p${at}`);

  /** 600 sessions, after a first background check. */
  async function watchMany() {
    const at = setUp({ intervalMs: 20 });
    const signedIn = new Map(NAMES.map((name) => [name, at.signIn(name)]));
    at.principals.startWatch();
    onTestFinished(() => at.principals.close());
    const principalOf = (name: string) => {
      const principal = signedIn.get(name);
      if (principal === undefined) throw new Error(`No ${name}.`);
      return principal;
    };
    /** Lets time pass and waits until the background check has confirmed the session again. */
    const confirm = async (name: string) => {
      at.pass(3000);
      const before = principalOf(name).confirmedAt.monotonicMs;
      await expect.poll(() => principalOf(name).confirmedAt.monotonicMs).toBeGreaterThan(before);
    };
    await confirm("p0");
    // From here on they are checked as one group.
    await expect.poll(() => principalOf("p0").group).toBeDefined();
    return { ...at, confirm, principalOf };
  }

  test("stay verified while nothing changes, and are not checked any more two minutes after their last use", async () => {
    const { principals, queries, confirm } = await watchMany();
    for (let check = 0; check < 40; check++) {
      await confirm("p0");
      expect(principals.recall("p0")).toMatchObject({ isStale: false });
    }
    expect(principals.size).toBe(600);
    expect(queries.at(-1)).toEqual({ model: "user", values: 1 });
  });

  test.each([
    ["is gone", "remove"],
    ["has changed", "change"],
  ] as const)("are verified again, each on its own, when its row %s", async (_what, happening) => {
    const at = await watchMany();
    if (happening === "remove") at.remove("session", "token", "token-p7");
    else at.change("user", "id", "p7", { updatedAt: new Date(START + 2 * HOUR) });
    const before = at.principalOf("p8").confirmedAt.monotonicMs;
    at.pass(3000);
    const isConfirmed = () => at.principalOf("p8").confirmedAt.monotonicMs > before;
    await expect.poll(isConfirmed, { interval: 1 }).toBe(true);
    expect(at.principalOf("p7").isRemoved).toBe(true);
    expect(at.principals.size).toBe(599);
    await expect.poll(() => at.queries.at(-1)?.values).toBe(599);
    at.remove("session", "token", "token-p8");
    at.pass(3000);
    await expect.poll(() => at.principalOf("p8").isRemoved).toBe(true);
    expect(at.principals.size).toBe(598);
  });

  test("lose a session whose membership was found later, when that membership ends", async () => {
    const at = await watchMany();
    at.tables["member"]?.push({ id: "m1", role: "member" });
    at.principalOf("p7").addMembership("acme", { id: "m1", role: "member" });
    await at.confirm("p7");
    expect(at.principalOf("p7").isRemoved).toBe(false);
    at.remove("member", "id", "m1");
    at.pass(3000);
    await expect.poll(() => at.principalOf("p7").isRemoved).toBe(true);
    expect(at.principals.size).toBe(599);
  });

  test("are confirmed again after the session store was away", async () => {
    const at = await watchMany();
    at.setDown(true);
    at.pass(5000);
    await expect.poll(async () => (await at.principals.recall("p7"))?.isStale).toBe(true);
    at.remove("session", "token", "token-p9");
    at.setDown(false);
    await expect
      .poll(async () => {
        at.pass(1000);
        return (await at.principals.recall("p7"))?.isStale;
      })
      .toBe(false);
    await expect.poll(() => at.principalOf("p9").isRemoved).toBe(true);
  });

  test("are verified by Better Auth again when the wall clock is set back", async () => {
    const at = await watchMany();
    await at.confirm("p7");
    at.setBack(2 * HOUR);
    const late = at.signIn("late");
    for (let check = 0; check < 3; check++) {
      const before = late.confirmedAt.monotonicMs;
      at.pass(3000);
      await expect.poll(() => late.confirmedAt.monotonicMs).toBeGreaterThan(before);
    }
    expect(at.principals.recall("p7")).toBeUndefined();
    expect(at.principals.recall("late")).toMatchObject({ isStale: false });
  });
});

test("a change that leaves updatedAt as it was is found within ten minutes of use", async () => {
  const { principals, signIn, pass, change } = setUp();
  signIn("ann");
  change("user", "id", "ann", { role: "admin" });
  principals.startWatch();
  for (let minute = 0; minute < 11; minute++) {
    pass(60_000);
    await principals.recall("ann");
  }
  await expect.poll(() => principals.size).toBe(0);
  principals.close();
});

test("a full cache evicts the least recently used caller", () => {
  let passedMs = 0;
  const principals = new PrincipalCache({
    maxPrincipals: 2,
    monotonicMs: () => passedMs,
    nowMs: () => START,
  });
  const remember = (name: string) => {
    const user = { id: name, email: "" };
    const caller = { kind: "user" as const, user };
    const facts = { caller, credentialId: `token-${name}`, validUntilMs: START + HOUR };
    principals.remember(name, facts, principals.now());
    passedMs += 1500;
  };
  remember("ann");
  remember("bob");
  void principals.recall("ann");
  remember("cat");
  expect(principals.size).toBe(2);
  expect([principals.recallStale("bob"), principals.recallStale("ann")?.cacheKey]).toEqual([
    undefined,
    "ann",
  ]);
});
