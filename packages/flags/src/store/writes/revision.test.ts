import type { DBAdapter } from "@better-auth/core/db/adapter";
import { describe, expect, test, vi } from "vitest";
import { advanceRevision, ensureRevision, isSameEnd, readRevisions, START } from "./revision.ts";

const rowOf = (tenant: string, revision = 3) => ({ tenant, revision, auditHash: `hash of ${tenant}` });

test("two ends are the same if both the revision and the hash are", () => {
  const end = { revision: 1, auditHash: "a" };
  expect(isSameEnd(end, { ...end })).toBe(true);
  expect(isSameEnd(end, { ...end, revision: 2 })).toBe(false);
  expect(isSameEnd(end, { ...end, auditHash: "b" })).toBe(false);
});

describe("the revisions of many tenants", () => {
  test("are read a thousand at a time, and those that have no row are at the start", async () => {
    const tenants = Array.from({ length: 2001 }, (_, at) => `t${at}`);
    const findMany = vi.fn(async ({ where, limit }: { where: { value: string[] }[]; limit: number }) =>
      (where[0]?.value ?? []).slice(0, limit).flatMap((tenant) => (tenant === "t7" ? [] : [rowOf(tenant)])),
    );
    const ends = await readRevisions({ findMany } as unknown as DBAdapter, tenants);
    expect(findMany.mock.calls.map(([{ where }]) => where[0]?.value.length)).toEqual([1000, 1000, 1]);
    expect(ends.get("t7")).toEqual(START);
    expect([...ends.values()].filter(({ revision }) => revision === 3)).toHaveLength(2000);
  });

  test("are those of the given names, although the database may find similar ones", async () => {
    const asked: unknown[] = [];
    const findMany = async ({ where }: { where: unknown[] }) => {
      asked.push(...where);
      return [rowOf("Acme"), rowOf("beta")];
    };
    const ends = await readRevisions({ findMany } as unknown as DBAdapter, ["acme", "beta", "a\0b"]);
    expect(asked).toEqual([{ field: "tenant", operator: "in", value: ["acme", "beta"] }]);
    expect([...ends]).toEqual([
      ["acme", START],
      ["beta", rowOf("beta")],
      ["a\0b", START],
    ]);
  });
});

describe("the first change of a tenant", () => {
  const refused = new Error("the row exists");
  function adapterOf(found: (object | null)[], create: () => Promise<unknown>) {
    const calls = { create: vi.fn(create), findOne: vi.fn(async () => found.shift() ?? null) };
    return { ...calls, adapter: calls as unknown as DBAdapter };
  }

  test("makes its row at revision 0", async () => {
    const { adapter, create } = adapterOf([null], async () => ({}));
    await ensureRevision(adapter, "t");
    const data = { tenant: "t", revision: 0, auditHash: "", auditAt: null, seq: null };
    expect(create.mock.calls).toEqual([[{ model: "featureFlagRevision", data }]]);
  });

  test("makes no row where there is one", async () => {
    const { adapter, create } = adapterOf([rowOf("t")], () => Promise.reject(refused));
    await ensureRevision(adapter, "t");
    expect(create).not.toHaveBeenCalled();
  });

  test("goes on if another writer made the row at the same time, and fails if nobody did", async () => {
    const failing = () => Promise.reject(refused);
    await ensureRevision(adapterOf([null, rowOf("t")], failing).adapter, "t");
    await expect(ensureRevision(adapterOf([null, null], failing).adapter, "t")).rejects.toBe(refused);
  });

  test("is refused with the reason if the row has disappeared since", async () => {
    const adapter = { incrementOne: async () => null } as unknown as DBAdapter;
    await expect(advanceRevision(adapter, "t")).rejects.toThrow("The revision row of the tenant is missing.");
  });
});
