import type { Where } from "@better-auth/core/db/adapter";
import { describe, expect, test } from "vitest";
import { createPrincipals } from "./principals.ts";
import { sessionCount } from "./session-count.ts";
import { createSessionWatch } from "./session-watch.ts";

type Row = Record<string, unknown>;

const START = Date.parse("2026-06-01T12:00:00Z");
const HOUR = 3_600_000;

/** A database of rows in memory, two clocks, and a count of the questions it was asked. */
function setUp({ maxValues = Number.POSITIVE_INFINITY } = {}) {
  let passedMs = 0;
  let isDown = false;
  const questions: { model: string; values: number }[] = [];
  const tables: Record<string, Row[]> = { session: [], user: [], member: [] };

  const fits = (row: Row, { field, operator = "eq", value }: Where) => {
    const own = row[field];
    if (operator === "in") return Array.isArray(value) && (value as unknown[]).includes(own);
    if (operator === "lt") return value instanceof Date && own instanceof Date && own < value;
    return own === value;
  };
  const find = async (model: string, where: readonly Where[]) => {
    const values = where.flatMap(({ value }) => (Array.isArray(value) ? [value.length] : [])).at(0) ?? 1;
    questions.push({ model, values });
    if (isDown) throw new Error("down");
    if (values > maxValues) throw new Error("too many values");
    return (tables[model] ?? []).filter((row) => where.every((one) => fits(row, one)));
  };
  const count = async ({ model, where = [] }: { model: string; where?: Where[] | undefined }) =>
    (await find(model, where)).length;
  const clocks = { monotonicMs: () => passedMs, nowMs: () => START + passedMs };
  const watch = createSessionWatch({
    ...clocks,
    count: sessionCount({ adapter: { count }, options: {}, tables: {} }, undefined),
    adapter: {
      findMany: async <T>({ model, where = [] }: { model: string; where?: Where[] | undefined }) =>
        (await find(model, where)) as T[],
    },
    fields: { role: true, activeOrganizationId: true },
    intervalMs: 1,
  });
  const principals = createPrincipals({ ...clocks, watch });

  /** Somebody who was signed in an hour ago and checked just now. */
  function signIn(name: string, changedAgoMs = HOUR) {
    const updatedAt = new Date(clocks.nowMs() - changedAgoMs);
    tables["session"]?.push({ token: `token-${name}`, updatedAt, activeOrganizationId: null });
    tables["user"]?.push({ id: name, email: `${name}@example.com`, role: "user", updatedAt });
    return principals.remember(
      name,
      {
        caller: { kind: "user", user: { id: name, email: `${name}@example.com`, role: "user" } },
        rows: {
          token: `token-${name}`,
          userId: name,
          expiresAtMs: clocks.nowMs() + HOUR,
          touchedAtMs: updatedAt.getTime(),
        },
        validUntilMs: clocks.nowMs() + HOUR,
      },
      principals.now(),
    );
  }
  return {
    principals,
    watch,
    tables,
    questions,
    signIn,
    pass: (ms: number) => {
      passedMs += ms;
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

describe("somebody who was checked lately", () => {
  test("is known without a question, and after that by counting their rows", async () => {
    const { principals, questions, signIn, pass } = setUp();
    signIn("ann");
    expect(principals.recall("ann")).toMatchObject({ stale: false });
    expect(questions).toEqual([]);
    pass(5000);
    expect(await principals.recall("ann")).toMatchObject({ stale: false });
    expect(questions.map(({ model }) => model)).toEqual(["session", "user"]);
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
  ])("must be checked anew when %s", async (_what, happen) => {
    const at = setUp();
    at.signIn("ann");
    at.signIn("bob");
    happen(at);
    at.pass(4900);
    const [ann, bob] = await Promise.all([at.principals.recall("ann"), at.principals.recall("bob")]);
    expect(ann).toBeUndefined();
    expect(bob).toMatchObject({ stale: false });
    expect(at.principals.recall("ann")).toBeUndefined();
  });

  test("must be checked anew when a membership has changed, or ended", async () => {
    for (const happen of ["change", "remove"] as const) {
      const at = setUp();
      const ann = at.signIn("ann");
      at.tables["member"]?.push({ id: "m1", role: "owner" });
      ann.join("organization", { id: "m1", role: "owner" });
      at.pass(4900);
      expect(await at.principals.recall("ann")).toMatchObject({ stale: false });
      if (happen === "change") at.change("member", "id", "m1", { role: "member" });
      else at.remove("member", "id", "m1");
      at.pass(4900);
      expect(await at.principals.recall("ann")).toBeUndefined();
    }
  });

  test("must be checked anew after a change so recent that counting could miss the next", async () => {
    const { principals, questions, signIn, pass } = setUp();
    signIn("ann", 5000);
    pass(4900);
    expect(principals.recall("ann")).toBeUndefined();
    expect(questions).toEqual([]);
  });

  test("is forgotten when the session ends, or Better Auth is to prolong it", () => {
    const { principals, signIn, pass } = setUp();
    signIn("ann");
    pass(HOUR);
    expect(principals.recall("ann")).toBeUndefined();
    expect(principals.size).toBe(0);
  });

  test("is forgotten at once when this process ends the session or changes the user", () => {
    const { principals, signIn } = setUp();
    signIn("ann");
    signIn("bob");
    principals.forgetSession("token-ann");
    principals.forgetUser("bob");
    expect([principals.recall("ann"), principals.recall("bob"), principals.size]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });
});

test("those who wait are asked for together, and a change is found among thousands by few questions", async () => {
  const { principals, questions, signIn, pass, remove } = setUp();
  for (let person = 0; person < 3000; person++) signIn(`p${person}`);
  pass(4900);
  remove("session", "token", "token-p1234");
  const all = await Promise.all(Array.from({ length: 3000 }, (_, person) => principals.recall(`p${person}`)));
  expect(all.flatMap((found, person) => (found === undefined ? [person] : []))).toEqual([1234]);
  // The first to come is asked for alone; those who come meanwhile wait for their turn.
  expect(questions.length).toBeLessThan(100);
});

test("a database that takes few values in one question is asked more often, not taken for one that is down", async () => {
  const { principals, questions, signIn, pass } = setUp({ maxValues: 100 });
  for (let person = 0; person < 500; person++) signIn(`p${person}`);
  pass(4900);
  const all = await Promise.all(Array.from({ length: 500 }, (_, person) => principals.recall(`p${person}`)));
  expect(all.every((found) => found?.stale === false)).toBe(true);
  pass(4900);
  questions.length = 0;
  await Promise.all(Array.from({ length: 500 }, (_, person) => principals.recall(`p${person}`)));
  expect(Math.max(...questions.map(({ values }) => values))).toBeLessThanOrEqual(100);
});

test("while the store is down, the last check counts for ten minutes, marked, and no longer", async () => {
  const { principals, signIn, pass, setDown, questions } = setUp();
  signIn("ann");
  setDown(true);
  pass(5000);
  expect(await principals.recall("ann")).toMatchObject({ stale: true });
  // Nobody waits for a store that is known to be down.
  const asked = questions.length;
  expect(principals.recall("ann")).toMatchObject({ stale: true });
  expect(questions).toHaveLength(asked);
  pass(9 * 60_000);
  expect(principals.recall("ann")).toMatchObject({ stale: true });
  // The question behind that answer fails, too.
  await new Promise((resolve) => setTimeout(resolve, 10));
  setDown(false);
  pass(2000);
  void principals.recall("ann");
  await expect.poll(() => principals.recall("ann")).toMatchObject({ stale: false });
  setDown(true);
  pass(10 * 60_000 + 1);
  expect(await principals.recall("ann")).toBeUndefined();
  expect(principals.recallStale("ann")).toBeUndefined();
});

test("those in use are asked for in the background, all at once; others are left alone", async () => {
  const { principals, questions, signIn, pass, remove } = setUp();
  for (let person = 0; person < 50; person++) signIn(`p${person}`);
  pass(61_000);
  for (let person = 50; person < 100; person++) signIn(`p${person}`);
  pass(3000);
  remove("session", "token", "token-p60");
  principals.watch();
  await expect.poll(() => principals.size).toBe(99);
  principals.close();
  expect(questions.every(({ values }) => values <= 50)).toBe(true);
  pass(3000);
  expect(principals.recall("p51")).toMatchObject({ stale: false });
});

test("a change that leaves no trace in updatedAt is noticed within ten minutes of use", async () => {
  const { principals, signIn, pass, change } = setUp();
  signIn("ann");
  change("user", "id", "ann", { role: "admin" });
  principals.watch();
  for (let minute = 0; minute < 11; minute++) {
    pass(60_000);
    await principals.recall("ann");
  }
  await expect.poll(() => principals.size).toBe(0);
  principals.close();
});

test("no more are remembered than there is room for; the first to go is who was not seen for longest", () => {
  let passedMs = 0;
  const principals = createPrincipals({ maxPrincipals: 2, monotonicMs: () => passedMs, nowMs: () => START });
  const remember = (name: string) => {
    const user = { id: name, email: "" };
    const facts = { caller: { kind: "user" as const, user }, validUntilMs: START + HOUR };
    principals.remember(name, facts, principals.now());
    passedMs += 1500;
  };
  remember("ann");
  remember("bob");
  void principals.recall("ann");
  remember("cat");
  expect(principals.size).toBe(2);
  expect([principals.recallStale("bob"), principals.recallStale("ann")?.proof]).toEqual([undefined, "ann"]);
});
