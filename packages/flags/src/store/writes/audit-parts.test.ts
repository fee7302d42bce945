import type { DBAdapter } from "@better-auth/core/db/adapter";
import { describe, expect, test, vi } from "vitest";
import type { AuditRow } from "../../model/tables.ts";
import { insertParts, joinParts, splitText } from "./audit-parts.ts";

const MAX_COLUMN_BYTES = 65_535;
const SHIP = "\u{1f6a2}";
const TEXTS: [string, string][] = [
  ["of one byte each", "x".repeat(150_000)],
  ["of three bytes each", "€".repeat(70_000)],
  ["of surrogate pairs", SHIP.repeat(50_000)],
  ["of surrogate pairs after one letter", `x${SHIP.repeat(50_000)}`],
  ["that fill the last part", "x".repeat(84_000)],
  // A surrogate pair that would be cut at the end of the first part: the first, the last and another one.
  ...["\u{10000}", "\u{10ffff}", SHIP].map((pair): [string, string] => [
    `of which ${pair} is at the end of a part`,
    `${"x".repeat(20_999)}${pair}${"x".repeat(60_000)}`,
  ]),
];

describe("a text of the audit log", () => {
  test.each(TEXTS)(
    "larger than a column, with characters %s, is split into parts that each fit one",
    (_what, text) => {
      const parts = splitText(text);
      expect(parts.join("")).toBe(text);
      expect(parts.length).toBeGreaterThan(1);
      for (const part of parts) {
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(MAX_COLUMN_BYTES);
        expect(part).not.toMatch(/\p{Surrogate}/u);
        expect(part).not.toBe("");
      }
    },
  );

  test("that fits a column stays whole", async () => {
    for (const text of ["", "x", "x".repeat(60_000)]) expect(splitText(text)).toEqual([text]);
    const rows = [{ entryId: "a", before: "x".repeat(60_000) } as AuditRow];
    const adapter = { findMany: async () => [] } as unknown as DBAdapter;
    expect(await joinParts(adapter, rows)).toEqual(rows);
  });

  test.each(TEXTS)(
    "larger than a column, with characters %s, is read as it was, in whatever order its parts come",
    async (_what, text) => {
      const stored: { entryId: string; part: number; text: string }[] = [];
      const findMany = vi.fn(async ({ where }: { where: { field: string; value: string[] }[] }) =>
        stored.filter(({ entryId }) => where[0]?.value.includes(entryId)),
      );
      const create = async ({ data }: { data: (typeof stored)[number] }) => void stored.unshift(data);
      const adapter = { create, findMany } as unknown as DBAdapter;
      const rowOf = (entryId: string, before: string | null) => ({ entryId, before }) as AuditRow;
      const rows: AuditRow[] = [];
      for (const [entryId, whole] of [
        ["a", text],
        ["b", `${text}b`],
      ] as const) {
        const [first = "", ...more] = splitText(whole);
        await insertParts(adapter, entryId, more);
        rows.push(rowOf(entryId, first));
      }
      rows.push(rowOf("c", "small"), rowOf("d", null));
      expect((await joinParts(adapter, rows)).map(({ before }) => before)).toEqual([
        text,
        `${text}b`,
        "small",
        null,
      ]);
      const parts = stored.filter(({ entryId }) => entryId === "a").map(({ part }) => part);
      expect(parts.toReversed()).toEqual(parts.map((_, index) => index + 1));
      // Only entries that may have parts are asked for.
      expect(findMany.mock.calls.map(([{ where }]) => where)).toEqual([
        [{ field: "entryId", operator: "in", value: ["a", "b"] }],
      ]);
    },
  );
});
