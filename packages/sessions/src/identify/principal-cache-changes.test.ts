/** What ends the entry of a verified caller, and what does not. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryStore } from "../../test/memory-store.ts";
import type { IdentityChange } from "../changes/identity-change.ts";
import { sessionPrint } from "../changes/session-print.ts";
import type { CachedPrincipal } from "./cached-principal.ts";
import type { Principal } from "./caller.ts";
import { PrincipalCache } from "./principal-cache.ts";

const HOUR = 3_600_000;
const STALE_MS = 10 * 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => void vi.advanceTimersByTime(ms);

/** A cache whose clocks and session store the test controls. */
function setUp({ isWatched = true, maxPrincipals }: { isWatched?: boolean; maxPrincipals?: number } = {}) {
  const { store, sessions } = createMemoryStore();
  const confirm = vi.spyOn(sessions.rows, "confirm");
  const principals = new PrincipalCache({ ...(isWatched && { sessions }), maxPrincipals });
  const changedAtMs = Date.now() - HOUR;
  const validUntilMs = Date.now() + HOUR;
  const verify = (
    cacheKey: string,
    caller: Principal,
    credentialId: string,
    startedAtMs = principals.now(),
    hasTimes = false,
  ) => {
    return principals.remember(
      cacheKey,
      { caller, credentialId, validUntilMs, ...(hasTimes && { changedAtMs }) },
      startedAtMs,
    );
  };
  return {
    principals,
    store,
    confirm,
    verify,
    signIn: (name: string, cacheKey = name, startedAtMs = principals.now(), hasTimes = true) => {
      const user = { id: name, email: `${name}@example.com`, sessionId: `session-${name}` };
      store.sign(name, new Date(changedAtMs));
      return verify(
        cacheKey,
        { kind: "user", user },
        `token-${name}`,
        startedAtMs,
        hasTimes,
      ) as CachedPrincipal;
    },
    useKey: (id: string, ownerId: string) => verify(id, keyOf(id, ownerId), id) as CachedPrincipal,
    /** Those of the callers that are recalled. */
    recalled: async (...names: string[]) => {
      const found = await Promise.all(names.map((name) => principals.recall(name)));
      return names.filter((_, at) => found[at] !== undefined);
    },
  };
}

const keyOf = (id: string, ownerId: string): Principal => ({
  kind: "key",
  key: { id, actions: [], ownerId, owner: { kind: "organization" }, isPersonal: false },
});

const CHANGES: readonly (readonly [string, IdentityChange])[] = [
  ["the session, by its token", { kind: "session", id: "token-ann" }],
  ["the session, by the print of its token", { kind: "session-print", id: sessionPrint("token-ann") }],
  ["the session, by the id of its row", { kind: "session-id", id: "session-ann" }],
  ["the user", { kind: "user", id: "ann" }],
];

describe("a change", () => {
  test.each([
    ...CHANGES,
    ["a membership of the user", { kind: "member", id: "m1" }],
    ["an organization of the user", { kind: "organization", id: "acme" }],
  ] as const)("of %s ends what was verified before, and nothing else", async (_what, change) => {
    const { principals, signIn, useKey, recalled } = setUp();
    const ann = signIn("ann");
    ann.addMembership("acme", { id: "m1", role: "owner" });
    ann.addMembership("other", { id: "m2", role: "owner" });
    signIn("bob").addMembership("third", { id: "m3", role: "owner" });
    signIn("cat");
    useKey("k1", "owner");
    principals.apply(change);
    expect(await recalled("ann", "bob", "cat", "k1")).toEqual(["bob", "cat", "k1"]);
    expect([ann.isRemoved, principals.size]).toEqual([true, 3]);
  });

  test.each([
    ["the API key", { kind: "session", id: "k1" }],
    ["the user who owns the API key", { kind: "user", id: "owner" }],
    ["the organization that owns the API key", { kind: "organization", id: "owner" }],
  ] as const)("of %s ends what was verified of the key", async (_what, change) => {
    const { principals, signIn, useKey, recalled } = setUp();
    signIn("ann");
    useKey("k1", "owner");
    useKey("k2", "another");
    principals.apply(change);
    expect(await recalled("ann", "k1", "k2")).toEqual(["ann", "k2"]);
  });

  test("that does not tell whose rows it made ends everything", async () => {
    const { principals, signIn, useKey, recalled } = setUp();
    signIn("ann");
    useKey("k1", "owner");
    principals.apply({ kind: "unknown" });
    expect([await recalled("ann", "k1"), principals.size]).toEqual([[], 0]);
  });

  test.each([...CHANGES, ["rows that are not known", { kind: "unknown" }]] as const)(
    "of %s makes a verification that began before it count for nothing",
    async (_what, change) => {
      const { principals, signIn, recalled } = setUp();
      const startedAtMs = principals.now();
      pass(10);
      principals.apply(change);
      pass(10);
      expect(signIn("ann", "ann", startedAtMs)).toBeUndefined();
      expect([await recalled("ann"), principals.size]).toEqual([[], 0]);
      if (change.kind !== "unknown") expect(signIn("bob", "bob", startedAtMs)).toBeDefined();
      expect(signIn("ann")).toBeDefined();
    },
  );

  test("of the organization that owns an API key counts for a verification that began before it", () => {
    const { principals, verify } = setUp();
    const startedAtMs = principals.now();
    pass(10);
    principals.apply({ kind: "organization", id: "acme" });
    const key = keyOf("k1", "acme");
    expect(verify("k1", key, "k1", startedAtMs)).toBeUndefined();
  });

  test.each([
    ["the membership", { kind: "member", id: "m1" }, false],
    ["the organization", { kind: "organization", id: "acme" }, false],
    ["another membership", { kind: "member", id: "m2" }, true],
  ] as const)(
    "of %s decides whether a membership that was read before is added",
    (_what, change, isAdded) => {
      const { principals, signIn } = setUp();
      const ann = signIn("ann");
      const startedAtMs = principals.now();
      pass(10);
      principals.apply(change);
      principals.addMembership(ann, "acme", { id: "m1", role: "owner" }, startedAtMs);
      expect(ann.memberships?.has("acme") ?? false).toBe(isAdded);
    },
  );

  test("while the session store is asked makes its answer count for nothing", async () => {
    for (const outcome of ["confirmed", "changed", "unknown"] as const) {
      const { principals, signIn, store } = setUp();
      signIn("ann");
      if (outcome === "changed") store.end("ann");
      store.isDown = outcome === "unknown";
      pass(5000);
      const recalling = principals.recall("ann");
      principals.apply({ kind: "user", id: "ann" });
      expect(await recalling).toBeUndefined();
    }
  });
});

describe("a verification", () => {
  test("counts for exactly 4.8 s without a question to the session store", async () => {
    const { principals, signIn, confirm } = setUp();
    const ann = signIn("ann");
    pass(4800);
    expect(principals.recall("ann")).toEqual({ principal: ann, isStale: false });
    pass(1);
    expect(principals.recall("ann")).toBeInstanceOf(Promise);
    expect(confirm).toHaveBeenCalledWith(ann.session);
  });

  test("is forgotten when the session store shows a change", async () => {
    const { principals, signIn, store } = setUp();
    signIn("ann");
    pass(4801);
    store.end("ann");
    expect([await principals.recall("ann"), principals.size]).toEqual([undefined, 0]);
  });

  test("is forgotten when the session or the API key expires", () => {
    const { principals, signIn } = setUp();
    signIn("ann");
    pass(HOUR - 1);
    signIn("bob");
    expect(principals.recall("bob")).toBeDefined();
    pass(1);
    expect([principals.recallStale("bob"), principals.recall("bob")]).toEqual([undefined, undefined]);
    expect(principals.size).toBe(1);
  });

  test("is not renewed where the session store cannot be asked", () => {
    const { principals, signIn } = setUp({ isWatched: false });
    signIn("ann");
    pass(4801);
    expect(principals.recall("ann")).toBeUndefined();
    const other = setUp();
    other.signIn("ann", "ann", other.principals.now(), false);
    pass(4801);
    expect(other.principals.recall("ann")).toBeUndefined();
    expect(other.confirm).not.toHaveBeenCalled();
  });

  test("counts for ten minutes at most while the session store is down", async () => {
    const { principals, signIn, store } = setUp();
    const ann = signIn("ann");
    store.isDown = true;
    pass(STALE_MS);
    expect(await principals.recall("ann")).toEqual({ principal: ann, isStale: true });
    expect(principals.recall("ann")).toEqual({ principal: ann, isStale: true });
    expect(principals.recallStale("ann")).toBe(ann);
    pass(1);
    expect(await principals.recall("ann")).toBeUndefined();
    expect(principals.recallStale("ann")).toBeUndefined();
    store.isDown = false;
    expect(await principals.recall("ann")).toEqual({ principal: ann, isStale: false });
  });

  test("replaces the earlier one of the same credentials, which no longer counts", async () => {
    const { principals, signIn, store, recalled } = setUp();
    const first = signIn("ann");
    pass(5000);
    store.end("ann");
    const recalling = principals.recall("ann");
    const second = signIn("ann");
    expect([first.isRemoved, second.isRemoved, principals.size]).toEqual([true, false, 1]);
    expect(await recalling).toBeUndefined();
    // What is found out about the earlier one does not concern the later one.
    expect(await recalled("ann")).toEqual(["ann"]);
    expect(principals.recallStale("ann")).toBe(second);
  });

  test("is kept for eight forms of the same credentials, the latest ones", async () => {
    const { principals, signIn, recalled } = setUp();
    const keys = Array.from({ length: 9 }, (_, at) => `ann-${at}`);
    signIn("bob");
    for (const key of keys.slice(0, 8)) signIn("ann", key);
    expect(await recalled("bob", ...keys)).toEqual(["bob", ...keys.slice(0, 8)]);
    signIn("ann", "ann-8");
    expect(await recalled("bob", ...keys)).toEqual(["bob", ...keys.slice(1)]);
    expect(principals.size).toBe(9);
    principals.apply({ kind: "user", id: "ann" });
    expect(principals.size).toBe(1);
  });

  test("is not the first to be evicted if it was used a second ago or later", async () => {
    for (const [afterMs, left] of [
      [999, "bob"],
      [1000, "ann"],
    ] as const) {
      const { principals, signIn, recalled } = setUp({ maxPrincipals: 2 });
      signIn("ann");
      signIn("bob");
      pass(afterMs);
      void principals.recall("ann");
      signIn("cat");
      expect(await recalled("ann", "bob", "cat")).toEqual([left, "cat"]);
    }
  });
});
