import type { Where } from "@better-auth/core/db/adapter";
import { afterEach, describe, expect, test, vi } from "vitest";
import { CachedPrincipal } from "../identify/cached-principal.ts";
import type { Principal } from "../identify/caller.ts";
import { createValueComparison } from "./session-values.ts";

type Row = Record<string, unknown>;
interface Query {
  readonly model: string;
  readonly where?: Where[] | undefined;
  readonly select?: string[] | undefined;
  readonly limit?: number | undefined;
}

/** Tables in memory, which give only the columns that are asked for. */
function setUp(fields = { role: true, activeOrganizationId: true }) {
  const tables: Record<string, Row[]> = { session: [], user: [] };
  const queries: Query[] = [];
  const findMany = async <Found>(query: Query) => {
    queries.push(query);
    const [{ field, operator, value }] = query.where as [Where];
    const values = value as unknown[];
    const found = (tables[query.model] ?? []).filter(
      (row) => operator === "in" && values.includes(row[field]),
    );
    const pick = (row: Row) => Object.fromEntries((query.select ?? []).map((name) => [name, row[name]]));
    return found.slice(0, query.limit).map(pick) as Found[];
  };
  const compare = createValueComparison({ findMany }, fields);
  const principals: CachedPrincipal[] = [];

  function add(name: string, caller: Principal, hasRows = true): void {
    const rows = { token: `token-${name}`, userId: name, changedAtMs: 0 };
    const facts = { caller, credentialId: rows.token, rows: hasRows ? rows : undefined, validUntilMs: 1 };
    principals.push(new CachedPrincipal(name, facts, { monotonicMs: 0, wallMs: 0 }));
  }
  return {
    tables,
    queries,
    add,
    signIn(name: string, stored: Row = {}, user: { role?: string; activeOrganizationId?: string } = {}) {
      const email = `${name}@example.com`;
      tables["session"]?.push({ token: `token-${name}`, activeOrganizationId: null, ...stored });
      tables["user"]?.push({ id: name, email, role: null, ...stored });
      add(name, { kind: "user", user: { id: name, email, ...user } });
    },
    different: async () => (await compare(principals)).map(({ cacheKey }) => cacheKey),
  };
}

afterEach(() => void vi.useRealTimers());

describe("the values of cached callers", () => {
  test("are the same as those of their rows, with and without a role and an active organization", async () => {
    const { signIn, different, queries } = setUp();
    signIn("ann");
    signIn(
      "bob",
      { role: "admin", activeOrganizationId: "acme" },
      { role: "admin", activeOrganizationId: "acme" },
    );
    signIn("cat", { role: undefined, activeOrganizationId: "" });
    expect(await different()).toEqual([]);
    expect(queries.map(({ model, limit }) => [model, limit])).toEqual([
      ["session", 3],
      ["user", 3],
    ]);
  });

  test.each([
    ["has another email address", "user", { email: "other@example.com" }],
    ["has a role", "user", { role: "admin" }],
    ["has an active organization", "session", { activeOrganizationId: "acme" }],
    ["is gone", "user", undefined],
    ["is gone", "session", undefined],
  ])("differ when the row of the session or its user %s (%s)", async (_what, model, change) => {
    const { signIn, different, tables } = setUp();
    signIn("ann");
    signIn("bob");
    const [first, ...others] = tables[model] ?? [];
    tables[model] = change === undefined ? others : [{ ...first, ...change }, ...others];
    expect(await different()).toEqual(["ann"]);
  });

  test("differ when the role or the active organization was taken away", async () => {
    const { signIn, different } = setUp();
    signIn("ann", {}, { role: "admin" });
    signIn("bob", {}, { activeOrganizationId: "acme" });
    expect(await different()).toEqual(["ann", "bob"]);
  });

  test("are compared without columns that the host's tables do not have", async () => {
    const { signIn, different, queries } = setUp({ role: false, activeOrganizationId: false });
    signIn("ann");
    expect(await different()).toEqual([]);
    expect(queries.map(({ select }) => select)).toEqual([["token"], ["id", "email"]]);
  });

  test("cannot be compared for an API key, nor without rows", async () => {
    const { signIn, add, different, queries } = setUp();
    const key: Principal = { kind: "key", key: { id: "k", actions: [], ownerId: "ann" } };
    add("k", key, false);
    expect([await different(), queries]).toEqual([[], []]);
    signIn("ann");
    expect(await different()).toEqual(["k"]);
    add("ann", key);
    expect(await different()).toEqual(["k", "ann"]);
  });
});

test("a session store that does not respond within a second is an error", async () => {
  vi.useFakeTimers();
  const compare = createValueComparison(
    { findMany: () => new Promise(() => {}) },
    { role: true, activeOrganizationId: true },
  );
  const caller: Principal = { kind: "user", user: { id: "ann", email: "" } };
  const rows = { token: "t", userId: "ann", changedAtMs: 0 };
  const facts = { caller, credentialId: "t", rows, validUntilMs: 1 };
  const comparing = compare([new CachedPrincipal("ann", facts, { monotonicMs: 0, wallMs: 0 })]);
  const failing = expect(comparing).rejects.toThrow("did not respond within 1000 ms");
  await vi.advanceTimersByTimeAsync(1000);
  await failing;
});
