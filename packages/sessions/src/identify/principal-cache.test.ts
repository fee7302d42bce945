import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryStore } from "../../test/memory-store.ts";
import { PrincipalCache } from "./principal-cache.ts";

const HOUR = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"], now: Date.parse("2026-06-01T12:00:00Z") });
});
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => void vi.advanceTimersByTime(ms);

/** A cache over a session store in memory. */
function setUp(options?: { readonly hasVersions: boolean }) {
  const { store, sessions, reconciliation } = createMemoryStore(options);
  const principals = new PrincipalCache({ sessions });

  /** A user whose session was verified now. */
  function signIn(name: string) {
    const changedAtMs = Date.now() - HOUR;
    const { token } = store.sign(name, new Date(changedAtMs)).session;
    const user = { id: name, email: `${name}@example.com`, sessionId: `session-${name}` };
    const facts = {
      caller: { kind: "user" as const, user },
      credentialId: String(token),
      changedAtMs,
      validUntilMs: Date.now() + HOUR,
    };
    const principal = principals.remember(name, facts, principals.now());
    if (principal === undefined) throw new Error("A change was made at the same time.");
    return principal;
  }
  const join = (name: string, organizationId: string, id: string) => {
    store.write(name, ({ members }) => members.set(organizationId, { id, role: "owner" }));
    return { id, role: "owner" };
  };
  return { principals, store, sessions, reconciliation, signIn, join };
}

describe.each([
  ["with versions of rows", true],
  ["by the values of rows", false],
])("a verified caller, %s", (_name, hasVersions) => {
  test("is recalled without a query for 4.8 s, and then by comparing the rows of the session", async () => {
    const { principals, store, signIn } = setUp({ hasVersions });
    signIn("ann");
    pass(4800);
    expect(principals.recall("ann")).toMatchObject({ isStale: false });
    expect([store.read, store.compared]).toEqual([[], []]);
    pass(1);
    expect(await principals.recall("ann")).toMatchObject({ isStale: false });
    expect(store.read).toEqual([["session-ann"]]);
    pass(4800);
    expect(principals.recall("ann")).not.toBeInstanceOf(Promise);
    pass(1);
    expect(await principals.recall("ann")).toMatchObject({ isStale: false });
    expect([store.read.length, store.compared.length]).toEqual(hasVersions ? [1, 2] : [2, 0]);
  });

  test.each<[string, (at: ReturnType<typeof setUp>) => void]>([
    ["the session is gone", ({ store }) => store.end("ann")],
    [
      "the session has changed",
      ({ store }) =>
        store.write("ann", ({ session }) => {
          session["updatedAt"] = new Date();
        }),
    ],
    [
      "the session has another token",
      ({ store }) =>
        store.write("ann", ({ session }) => {
          session["token"] = "another";
        }),
    ],
    [
      "the session has another active organization",
      ({ store }) =>
        store.write("ann", ({ session }) => {
          session["activeOrganizationId"] = "acme";
        }),
    ],
    [
      "the user has changed",
      ({ store }) =>
        store.write("ann", ({ user }) => {
          user["updatedAt"] = new Date();
        }),
    ],
    [
      "the user has another role, with the same updatedAt",
      ({ store }) =>
        store.write("ann", ({ user }) => {
          user["role"] = "admin";
        }),
    ],
    [
      "the user has another address, with the same updatedAt",
      ({ store }) =>
        store.write("ann", ({ user }) => {
          user["email"] = "new@example.com";
        }),
    ],
  ])("must be verified again when %s", async (_what, happen) => {
    for (const isKnown of [false, true]) {
      const at = setUp({ hasVersions });
      at.signIn("ann");
      at.signIn("bob");
      if (isKnown) {
        pass(4900);
        expect((await at.principals.recall("ann"))?.isStale).toBe(false);
      }
      happen(at);
      pass(4900);
      const [ann, bob] = await Promise.all([at.principals.recall("ann"), at.principals.recall("bob")]);
      expect(ann).toBeUndefined();
      expect(bob).toMatchObject({ isStale: false });
      expect(at.principals.recall("ann")).toBeUndefined();
    }
  });

  test("must be verified again when one of several memberships has changed or ended; others need not", async () => {
    for (const happen of ["change", "remove"] as const) {
      const at = setUp({ hasVersions });
      const [ann, bob] = ["ann", "bob", "cat"].map((name) => at.signIn(name));
      // Known before the session is read, and found out later.
      at.principals.addMembership(ann as never, "acme", at.join("ann", "acme", "m1"), at.principals.now());
      pass(4900);
      const recallAll = () => Promise.all(["ann", "bob", "cat"].map((name) => at.principals.recall(name)));
      expect((await recallAll()).map((found) => found?.isStale)).toEqual([false, false, false]);
      at.principals.addMembership(ann as never, "other", at.join("ann", "other", "m2"), at.principals.now());
      at.principals.addMembership(bob as never, "acme", at.join("bob", "acme", "m3"), at.principals.now());
      pass(4900);
      expect((await recallAll()).map((found) => found?.isStale)).toEqual([false, false, false]);
      at.store.write("ann", ({ members }) => {
        if (happen === "remove") members.delete("other");
        else members.set("other", { id: "m2", role: "member" });
      });
      pass(4900);
      expect((await recallAll()).map((found) => found?.isStale)).toEqual([undefined, false, false]);
    }
  });

  test("among thousands is compared together with the others that wait, and a change is found", async () => {
    const { principals, store, signIn } = setUp({ hasVersions });
    const names = Array.from({ length: 3000 }, (_, at) => `p${at}`);
    for (const name of names) signIn(name);
    pass(4900);
    store.end("p1234");
    const all = await Promise.all(names.map((name) => principals.recall(name)));
    expect(all.flatMap((found, at) => (found === undefined ? [at] : []))).toEqual([1234]);
    // The first caller alone, then all others.
    if (hasVersions) expect(store.compared.map(({ length }) => length)).toEqual([1, 2999]);
    expect(store.read.map(({ length }) => length)).toEqual([1, 500, 500, 500, 500, 500, 499]);
  });

  test("is compared once, however many of its requests wait", async () => {
    const { principals, store, signIn } = setUp({ hasVersions });
    signIn("ann");
    pass(4900);
    await Promise.all(Array.from({ length: 5 }, () => principals.recall("ann")));
    expect(store.read).toHaveLength(1);
  });
});

test("a session in use is compared in the background, so that its next request need not wait", async () => {
  const { principals, reconciliation, store, signIn } = setUp({ hasVersions: true });
  for (const name of ["ann", "bob"]) signIn(name);
  void principals.recall("ann");
  for (let round = 0; round < 14; round += 1) {
    pass(4000);
    await reconciliation.run();
    if (round === 13) expect(principals.recall("ann")).toMatchObject({ isStale: false });
  }
  // No request used Bob's.
  expect(new Set(store.compared.flat())).toEqual(new Set(["session-ann"]));
  store.compared.length = 0;
  pass(60_000);
  await reconciliation.run();
  expect(store.compared).toEqual([]);
});

test("a change that the background finds counts for the next request", async () => {
  const { principals, reconciliation, store, signIn } = setUp({ hasVersions: true });
  signIn("ann");
  void principals.recall("ann");
  pass(1000);
  await reconciliation.run();
  store.write("ann", ({ user }) => {
    user["role"] = "admin";
  });
  pass(1000);
  await reconciliation.run();
  expect(principals.recall("ann")).toBeUndefined();
  expect(principals.size).toBe(0);
});

test.each(["up", "down"])(
  "a session that the background finds ended does not count again, with the store %s",
  async (state) => {
    const { principals, store, reconciliation, signIn } = setUp();
    signIn("ann");
    await principals.recall("ann");
    store.end("ann");
    await reconciliation.run();
    store.isDown = state === "down";
    expect(await principals.recall("ann")).toBeUndefined();
    expect(principals.recallStale("ann")).toBeUndefined();
  },
);

test("an ended session does not count again while the store is down, however long ago it ended", async () => {
  const { principals, store, reconciliation, signIn } = setUp();
  for (const name of ["ann", "ben"]) {
    signIn(name);
    await principals.recall(name);
    store.end(name);
    await reconciliation.run();
    pass(61_000);
  }
  store.isDown = true;
  expect(await principals.recall("ann")).toBeUndefined();
  expect(principals.recallStale("ann")).toBeUndefined();
});

test("nothing is compared for a cache that is closed", async () => {
  const { principals, sessions, signIn } = setUp();
  signIn("ann");
  void principals.recall("ann");
  expect(sessions.size).toBe(1);
  principals.close();
  expect(sessions.size).toBe(0);
});

test("while the session store is down, the last verification counts for at most ten minutes, marked as stale", async () => {
  const { principals, signIn, store } = setUp();
  signIn("ann");
  store.isDown = true;
  pass(5000);
  expect(await principals.recall("ann")).toMatchObject({ isStale: true });
  // A request does not wait for a session store that is known to be down.
  const queries = store.read.length;
  expect(principals.recall("ann")).toMatchObject({ isStale: true });
  expect(store.read).toHaveLength(queries);
  pass(9 * 60_000);
  expect(principals.recall("ann")).toMatchObject({ isStale: true });
  // The query in the background fails, too.
  await new Promise((resolve) => setTimeout(resolve, 10));
  store.isDown = false;
  pass(2000);
  void principals.recall("ann");
  await expect.poll(() => principals.recall("ann")).toMatchObject({ isStale: false });
  store.isDown = true;
  pass(10 * 60_000 + 1);
  expect(await principals.recall("ann")).toBeUndefined();
  expect(principals.recallStale("ann")).toBeUndefined();
});

test("a caller is removed when the session expires or Better Auth must renew it", () => {
  const { principals, signIn } = setUp();
  signIn("ann");
  pass(HOUR);
  expect(principals.recall("ann")).toBeUndefined();
  expect(principals.size).toBe(0);
});

test("a caller is removed at once when this process ends the session or changes the user", () => {
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

test("a full cache evicts the least recently used caller", () => {
  const principals = new PrincipalCache({ maxPrincipals: 2 });
  const remember = (name: string) => {
    const caller = { kind: "user" as const, user: { id: name, email: "" } };
    const facts = { caller, credentialId: `token-${name}`, validUntilMs: Date.now() + HOUR };
    principals.remember(name, facts, principals.now());
    pass(1500);
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
