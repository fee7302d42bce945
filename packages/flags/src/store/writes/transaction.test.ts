import type { DBAdapter } from "@better-auth/core/db/adapter";
import { afterEach, expect, test, vi } from "vitest";
import { createTransactions } from "./transaction.ts";

afterEach(() => void vi.unstubAllGlobals());

/** An adapter whose first transaction does not end. */
function adapterThatHangsOnce(): { adapter: DBAdapter; transactions: () => number } {
  let begun = 0;
  const rows = {
    create: async () => ({}),
    findOne: async () => null,
  };
  const adapter = {
    ...rows,
    options: { adapterConfig: { transaction: true } },
    transaction(work: (tx: unknown) => Promise<unknown>) {
      begun += 1;
      return begun === 1 ? new Promise(() => {}) : work(rows);
    },
  };
  return { adapter: adapter as unknown as DBAdapter, transactions: () => begun };
}

test("on Workers, a proof whose request was ended blocks no other request", async () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const { adapter, transactions } = adapterThatHangsOnce();
  const { prove, state } = createTransactions(adapter);
  void prove();
  await prove();
  expect(state()).toBe("ok");
  await prove();
  expect(transactions()).toBe(2);
});

test("elsewhere, concurrent callers share one proof", async () => {
  const { adapter, transactions } = adapterThatHangsOnce();
  const { prove, state } = createTransactions(adapter);
  for (let times = 0; times < 5; times++) void prove();
  await vi.waitFor(() => expect(transactions()).toBe(1));
  expect([transactions(), state()]).toEqual([1, "unproven"]);
});

/** An adapter whose transactions fail if another one has committed since they began, as with `serializable`. */
function adapterOfOneRow(): { adapter: DBAdapter; attempts: Map<unknown, number> } {
  let version = 0;
  const attempts = new Map<unknown, number>();
  const adapter = {
    async transaction(work: (tx: unknown) => Promise<unknown>) {
      const start = version;
      const writer = await work(adapter);
      attempts.set(writer, (attempts.get(writer) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (version !== start) throw Object.assign(new Error("could not serialize access"), { code: "40001" });
      version += 1;
      return writer;
    },
  };
  return { adapter: adapter as unknown as DBAdapter, attempts };
}

test("of a hundred writers who conflict with each other, each succeeds after a few attempts", async () => {
  const { adapter, attempts } = adapterOfOneRow();
  const { run } = createTransactions(adapter);
  const writers = Array.from({ length: 100 }, (_, writer) => writer);
  expect(await Promise.all(writers.map((writer) => run(async () => writer)))).toEqual(writers);
  expect(Math.max(...attempts.values())).toBeLessThan(12);
});
