import type { DBAdapter } from "@better-auth/core/db/adapter";
import { describe, expect, test, vi } from "vitest";
import type { HostTables } from "../postgres/host-tables.ts";
import {
  advanceRevision,
  counterOf,
  ensureRevision,
  isSameEnd,
  moveChainEnd,
  readRevision,
  readRevisions,
  readRevisionsDirectly,
  START,
} from "./revision.ts";

const rowOf = (tenant: string, revision = 3) => ({ tenant, revision, auditHash: `hash of ${tenant}` });

test("two ends are the same if both the revision and the hash are", () => {
  const end = { revision: 1, auditHash: "a" };
  expect(isSameEnd(end, { ...end })).toBe(true);
  expect(isSameEnd(end, { ...end, revision: 2 })).toBe(false);
  expect(isSameEnd(end, { ...end, auditHash: "b" })).toBe(false);
});

describe("the revision of a tenant", () => {
  const model = "featureFlagRevision";
  const where = [{ field: "tenant", value: "t" }];

  test("is at the start until its first change", async () => {
    for (const [row, end] of [
      [rowOf("t"), rowOf("t")],
      [null, START],
    ] as const) {
      const findOne = vi.fn(async () => row);
      expect(await readRevision({ findOne } as unknown as DBAdapter, "t")).toEqual(end);
      expect(findOne.mock.calls).toEqual([[{ model, where }]]);
    }
  });

  test("is advanced by one and then moved to the end of the change, in the row of that tenant only", async () => {
    const incrementOne = vi.fn(async () => rowOf("t", 4));
    const update = vi.fn(async () => null);
    const adapter = { incrementOne, update } as unknown as DBAdapter;
    expect(await advanceRevision(adapter, "t")).toEqual(rowOf("t", 4));
    expect(incrementOne.mock.calls).toEqual([[{ model, where, increment: { revision: 1 } }]]);
    const end = { revision: 5, auditHash: "h", auditAt: "2026-01-01T00:00:00.000Z", seq: 9 };
    await moveChainEnd(adapter, "t", end);
    expect(update.mock.calls).toEqual([[{ model, where, update: end }]]);
  });
});

describe("the revisions of many tenants", () => {
  test("are read in one query on PostgreSQL, and those that have no row are at the start", async () => {
    const query = vi.fn(async (_timeoutMs: number, _text: string, _values: unknown[]) => [
      { tenant: "acme", revision: "3", auditHash: "h" },
    ]);
    const tables = { column: String, table: String, query } as unknown as HostTables;
    const ends = await readRevisionsDirectly(tables, ["acme", "beta", "a\0b"]);
    expect([...ends]).toEqual([
      ["acme", { revision: 3, auditHash: "h" }],
      ["beta", START],
      ["a\0b", START],
    ]);
    expect(query.mock.lastCall?.[2]).toEqual(['{"acme","beta"}']);
    await readRevisionsDirectly(tables, ["a\0b"]);
    expect(query.mock.lastCall?.[2]).toEqual(["{}"]);
  });

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
    const findOne = async ({ where }: { where: { value: string }[] }) =>
      where[0]?.value === "t" ? (found.shift() ?? null) : null;
    const calls = { create: vi.fn(create), findOne: vi.fn(findOne) };
    return { ...calls, adapter: calls as unknown as DBAdapter };
  }

  test("makes its row at revision 0", async () => {
    const { adapter, create } = adapterOf([null], async () => ({}));
    await ensureRevision(adapter, "t");
    const data = {
      tenant: "t",
      revision: 0,
      auditHash: "",
      auditAt: null,
      counter: counterOf("t"),
      seq: null,
    };
    expect(create.mock.calls).toEqual([[{ model: "featureFlagRevision", data }]]);
  });

  test("makes no row where there is one", async () => {
    const { adapter, create } = adapterOf([rowOf("t")], () => Promise.reject(refused));
    await ensureRevision(adapter, "t");
    expect(create).not.toHaveBeenCalled();
  });

  test("goes on if another writer made the row at the same time, and fails if no writer did", async () => {
    const failing = () => Promise.reject(refused);
    await ensureRevision(adapterOf([null, rowOf("t")], failing).adapter, "t");
    await expect(ensureRevision(adapterOf([null, null], failing).adapter, "t")).rejects.toBe(refused);
  });

  test("is refused with the reason if the row has disappeared since", async () => {
    const adapter = { incrementOne: async () => null } as unknown as DBAdapter;
    await expect(advanceRevision(adapter, "t")).rejects.toThrow("The revision row of the tenant is missing.");
  });
});
