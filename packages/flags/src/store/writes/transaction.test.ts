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
