import { expect, test } from "vitest";
import type { Adapter } from "../../rows/queries.ts";
import { sweepEvents } from "./sweep.ts";

interface Query {
  readonly model: string;
  readonly limit: number;
  readonly select?: [string];
}

/** A database with this many old rows in each table. */
function fakeAdapter(old: number): { adapter: Adapter; left: Map<string, number> } {
  const left = new Map<string, number>();
  const adapter = {
    async findMany({ model, limit, select: [field] = [""] }: Query) {
      if (model === "featureFlagOutbox") return [];
      const length = Math.min(limit, left.get(model) ?? old);
      return Array.from({ length }, () => ({ [field]: "0" }));
    },
    async deleteMany({ model }: { model: string }) {
      left.set(model, Math.max(0, (left.get(model) ?? old) - 1000));
    },
  };
  return { adapter: adapter as unknown as Adapter, left };
}

test("a sweep deletes a bounded number of rows, and returns whether rows are left", async () => {
  const retention = { eventDays: 1, rollupDays: 1 };
  const { adapter, left } = fakeAdapter(200_500);
  expect(await sweepEvents(adapter, Date.now(), retention)).toBe(false);
  expect([...left.values()]).toEqual(Array(7).fill(500));
  expect(await sweepEvents(adapter, Date.now(), retention)).toBe(true);
  expect([...left.values()]).toEqual(Array(7).fill(0));
});
