import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { CachedPrincipal } from "../identify/cached-principal.ts";
import { createSessionWatch } from "./session-watch.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** A session store that records how many sessions each of its queries was for, and when. */
function setUp() {
  const store = { isDown: false, takesMs: 0, changed: new Set<string>() };
  const asked: number[] = [];
  const askedAtMs: number[] = [];
  const compared: number[] = [];
  const startedAtMs = performance.now();
  const watch = createSessionWatch({
    changes: {
      async changedSessions(sessions) {
        asked.push(sessions.length);
        askedAtMs.push(performance.now() - startedAtMs);
        if (store.takesMs > 0) await new Promise((resolve) => setTimeout(resolve, store.takesMs));
        if (store.isDown) throw new Error("down");
        return new Set(sessions.flatMap(({ token }) => (store.changed.has(token) ? [token] : [])));
      },
      changedMembers: async () => new Set<string>(),
    },
    findDifferent: async (principals) => {
      compared.push(principals.length);
      return [];
    },
  });
  onTestFinished(() => watch.stop());
  const principals = new Set<CachedPrincipal>();

  function add(name: string, { changedAgoMs = HOUR, hasRows = true } = {}): CachedPrincipal {
    const rows = { token: name, userId: name, changedAtMs: Date.now() - changedAgoMs };
    const facts = {
      caller: { kind: "user" as const, user: { id: name, email: "" } },
      credentialId: name,
      rows: hasRows ? rows : undefined,
      validUntilMs: Date.now() + HOUR,
    };
    const at = { monotonicMs: performance.now(), wallMs: Date.now() };
    const principal = new CachedPrincipal(name, facts, at);
    principals.add(principal);
    return principal;
  }
  return {
    watch,
    store,
    asked,
    askedAtMs,
    compared,
    principals,
    add,
    addMany: (count: number) => Array.from({ length: count }, (_, at) => add(`p${at}`)),
    start: () =>
      watch.start(
        () => principals,
        (principal) => principals.delete(principal),
      ),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a session whose request waits", () => {
  test("is confirmed, or has changed, or is unknown while the session store is down", async () => {
    const { watch, store, add } = setUp();
    const ann = add("ann");
    expect(await watch.confirm(ann)).toBe("confirmed");
    store.isDown = true;
    expect(await watch.confirm(ann)).toBe("unknown");
    store.isDown = false;
    store.changed.add("ann");
    expect(await watch.confirm(ann)).toBe("changed");
  });

  test("is asked for once, however many of its requests wait", async () => {
    const { watch, add, asked } = setUp();
    const [ann, bob] = [add("ann"), add("bob")];
    const outcomes = await Promise.all([ann, bob, bob, ann, bob].map((one) => watch.confirm(one)));
    expect([outcomes, asked]).toEqual([Array(5).fill("confirmed"), [1, 1]]);
    await watch.confirm(ann);
    expect(asked).toEqual([1, 1, 1]);
  });

  test("is confirmed together with hundreds of others", async () => {
    const { watch, addMany, asked } = setUp();
    const outcomes = await Promise.all(addMany(601).map((one) => watch.confirm(one)));
    expect([new Set(outcomes), asked]).toEqual([new Set(["confirmed"]), [1, 600]]);
  });

  test("must be verified by Better Auth, without a query, when times cannot show a change", async () => {
    const { watch, add, asked } = setUp();
    const recent = add("ann", { changedAgoMs: 9999 });
    const without = add("bob", { hasRows: false });
    const old = add("cat", { changedAgoMs: 10_000 });
    expect([recent, without, old].map((one) => watch.canConfirm(one))).toEqual([false, false, true]);
    expect([await watch.confirm(recent), asked]).toEqual(["changed", []]);
    expect([await watch.confirm(old), asked]).toEqual(["confirmed", [1]]);
  });

  test("costs a store that is down one query, and all that wait together one more", async () => {
    const { watch, store, add, addMany, asked } = setUp();
    store.isDown = true;
    const outcomes = await Promise.all([add("first"), ...addMany(100)].map((one) => watch.confirm(one)));
    // The second batch is tried with all sessions and with one of them.
    expect([new Set(outcomes), asked]).toEqual([new Set(["unknown"]), [1, 100, 1]]);
  });
});

test("a session store counts as down after a failed query, and is tried again every second", async () => {
  const { watch, store, add, asked, pass } = setUp();
  const ann = add("ann");
  expect(watch.isDown(ann)).toBe(false);
  store.isDown = true;
  await watch.confirm(ann);
  expect(watch.isDown(ann)).toBe(true);
  await pass(999);
  expect([watch.isDown(ann), asked]).toEqual([true, [1]]);
  store.isDown = false;
  await pass(1);
  expect(watch.isDown(ann)).toBe(true);
  await pass(0);
  expect([watch.isDown(ann), asked]).toEqual([false, [1, 1]]);
});

describe("the sessions in use", () => {
  test("are checked every 4 s, once, until the watch stops", async () => {
    const { watch, add, start, askedAtMs, pass } = setUp();
    add("ann");
    start();
    start();
    await pass(12_000);
    expect(askedAtMs).toEqual([4000, 8000, 12_000]);
    watch.stop();
    start();
    await pass(12_000);
    expect(askedAtMs).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("are checked no more when the watch stops during a check", async () => {
    const { watch, store, add, start, asked, pass } = setUp();
    add("ann");
    store.takesMs = 1000;
    start();
    await pass(4500);
    watch.stop();
    await pass(12_000);
    expect(asked).toEqual([1]);
  });

  test.each([
    ["every 4 s from start to start", 3000, [4000, 8000, 12_000]],
    ["without a pause when a check takes longer", 5000, [4000, 9000, 14_000]],
  ])("are checked %s", async (_what, takesMs, expected) => {
    const { store, add, start, askedAtMs, pass } = setUp();
    add("ann");
    store.takesMs = takesMs;
    start();
    await pass(15_000);
    // A timer without a delay takes a millisecond.
    expect(askedAtMs.map((ms) => Math.round(ms / 10) * 10)).toEqual(expected);
  });

  test("are checked every second while the session store is down", async () => {
    const { store, add, start, askedAtMs, pass } = setUp();
    add("ann");
    store.isDown = true;
    start();
    await pass(6000);
    expect(askedAtMs).toEqual([4000, 5000, 6000]);
  });

  test("are those used within a minute", async () => {
    const { add, start, askedAtMs, pass } = setUp();
    add("ann");
    start();
    await pass(3 * MINUTE);
    expect(askedAtMs.at(-1)).toBe(MINUTE);
  });

  test("are checked in one query, also those that come later", async () => {
    const { add, start, asked, pass } = setUp();
    add("ann");
    start();
    await pass(4000);
    add("bob");
    await pass(4000);
    expect(asked).toEqual([1, 2]);
  });

  test("are a group from 500 on, to which later ones do not belong, and which ends with their use", async () => {
    const { add, addMany, start, asked, pass } = setUp();
    addMany(500);
    start();
    await pass(4000);
    add("late");
    await pass(4000);
    expect(asked).toEqual([500, 500, 1]);
    await pass(2 * MINUTE);
    asked.length = 0;
    await pass(MINUTE);
    expect(asked).toEqual([]);
  });

  test("are no group while one of them has changed", async () => {
    const { store, principals, addMany, start, asked, pass } = setUp();
    addMany(501);
    store.changed.add("p7");
    start();
    await pass(8000);
    expect([asked, principals.size]).toEqual([[501, 500], 500]);
  });

  test("are compared by value ten minutes after the last comparison, at most 200 at a time", async () => {
    const { addMany, start, compared, pass } = setUp();
    const all = addMany(201);
    start();
    const use = () => {
      for (const one of all) one.usedAtMs = performance.now();
    };
    for (let minute = 0; minute < 10; minute++) {
      expect(compared).toEqual([]);
      use();
      await pass(MINUTE);
    }
    expect(compared).toEqual([200]);
    use();
    await pass(4000);
    expect(compared).toEqual([200, 1]);
    await pass(30_000);
    expect(compared).toEqual([200, 1]);
  });
});
