import { expect, it } from "vitest";
import { columnsOf } from "./columns.ts";

it("one day has a column per hour, empty hours included", () => {
  const columns = columnsOf({
    window: { start: "2026-01-01T00:00:00.000Z", end: "2026-01-02T00:00:00.000Z" },
    hours: [{ at: "2026-01-01T05:00:00.000Z", byReason: { default: 2 } }],
  });
  expect(columns).toHaveLength(24);
  expect(columns[5]?.values).toEqual({ default: 2 });
  expect(columns[6]?.values).toEqual({});
});

it("columns have the figures that are chosen, such as those by variant", () => {
  const columns = columnsOf(
    {
      window: { start: "2026-01-01T00:00:00.000Z", end: "2026-01-02T00:00:00.000Z" },
      hours: [{ at: "2026-01-01T05:00:00.000Z", byReason: { default: 2 }, byVariant: { a: 1 } }],
    },
    ({ byVariant }) => byVariant,
  );
  expect(columns[5]?.values).toEqual({ a: 1 });
});

it("a month has a column per day, with the sums of its hours", () => {
  const columns = columnsOf({
    window: { start: "2026-01-01T00:00:00.000Z", end: "2026-01-31T00:00:00.000Z" },
    hours: [
      { at: "2026-01-02T05:00:00.000Z", byReason: { default: 2, rule_match: 1 } },
      { at: "2026-01-02T06:00:00.000Z", byReason: { default: 3 } },
    ],
  });
  expect(columns).toHaveLength(30);
  expect(columns[1]?.values).toEqual({ default: 5, rule_match: 1 });
});
