import type { DBAdapter } from "@better-auth/core/db/adapter";
import { describe, expect, test } from "vitest";
import { readChangedKeys } from "./changed-keys.ts";

interface Entry {
  readonly revision: number;
  readonly action: string;
  readonly flagKey: string;
  readonly before: string | null;
}

const entry = (revision: number, fields: Partial<Entry> = {}): Entry => ({
  revision,
  action: "rule.created",
  flagKey: `f${revision}`,
  before: null,
  ...fields,
});

/** An adapter with these entries of the tenant `t`, and as many of another one. The newest come first. */
function adapterOf(entries: readonly Entry[]): DBAdapter {
  type Condition = { field: string; operator?: string; value: string | number };
  const ofTenant = (tenant: string, prefix: string) =>
    entries.map((row) => ({
      ...row,
      tenant,
      flagKey: prefix + row.flagKey,
      prevHash: `${prefix}hash ${row.revision - 1}`,
    }));
  const rows = [...ofTenant("t", ""), ...ofTenant("other", "their ")];
  const holds = (row: object, { field, operator, value }: Condition) => {
    const stored = new Map<string, string | number>(Object.entries(row)).get(field) ?? "";
    if (operator === "gt") return stored > value;
    return operator === "lte" ? stored <= value : stored === value;
  };
  const findMany = async ({ where, limit }: { where: Condition[]; limit: number }) =>
    rows
      .filter((row) => where.every((condition) => holds(row, condition)))
      .toReversed()
      .slice(0, limit);
  return { findMany } as unknown as DBAdapter;
}

const read = (entries: readonly Entry[], after: number, upTo: number) =>
  readChangedKeys(adapterOf(entries), "t", { after, upTo });

describe("the keys that a range of revisions changed", () => {
  test("are those of its entries, with the hash before the first", async () => {
    const entries = [1, 2, 3, 4].map((revision) => entry(revision));
    expect(await read(entries, 1, 3)).toEqual({
      hash: "hash 1",
      keys: new Set(["f2", "f3"]),
      segments: false,
    });
  });

  test("are complete however long the range is", async () => {
    const entries = Array.from({ length: 450 }, (_, index) => entry(index + 1));
    const changed = await read(entries, 0, 450);
    expect([changed?.hash, changed?.keys.size]).toEqual(["hash 0", 450]);
    expect((await read(entries, 10, 410))?.keys.size).toBe(400);
  });

  test("are unknown if an entry is missing, or the range is empty", async () => {
    expect(await read([entry(1), entry(3)], 0, 3)).toBeUndefined();
    expect(await read([entry(1), entry(2)], 0, 3)).toBeUndefined();
    expect(await read([entry(1)], 1, 1)).toBeUndefined();
  });

  test("do not include segments, which are told apart", async () => {
    const changed = await read([entry(1), entry(2, { action: "segment.updated", flagKey: "" })], 0, 2);
    expect(changed).toMatchObject({ keys: new Set(["f1"]), segments: true });
  });

  test("include the earlier key of a flag that was renamed", async () => {
    const before = JSON.stringify({ key: "old" });
    const keysOf = async (fields: Partial<Entry>) => [
      ...((await read([entry(1, fields)], 0, 1))?.keys ?? []),
    ];
    expect(await keysOf({ action: "flag.updated", before })).toEqual(["f1", "old"]);
    expect(await keysOf({ action: "rule.updated", before })).toEqual(["f1"]);
    for (const damaged of [null, '{"key":', "[]", "null", '{"key":1}']) {
      expect(await keysOf({ action: "flag.updated", before: damaged })).toEqual(["f1"]);
    }
  });
});
