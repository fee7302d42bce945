import type { DBAdapter } from "@better-auth/core/db/adapter";
import { getAdapter } from "better-auth/db/adapter";
import { expect, test, vi } from "vitest";
import type { PostgresClient } from "../src/store/postgres/pool.ts";
import { PostgresTransactions } from "../src/store/postgres/transactions.ts";

vi.mock("better-auth/db/adapter", () => ({ getAdapter: vi.fn() }));

test("a client whose adapter could not be made is used again for the next transaction", async () => {
  const client: PostgresClient = {
    query: async () => ({ rows: [] }),
    on: () => undefined,
    removeListener: () => undefined,
    release: () => undefined,
  };
  const pool = { connect: async () => client, on: () => undefined, options: {} };
  const transactions = new PostgresTransactions({ options: {}, tables: {} }, pool);
  vi.mocked(getAdapter).mockRejectedValueOnce(new Error("No adapter."));
  vi.mocked(getAdapter).mockResolvedValue({ id: "bound" } as DBAdapter);
  await expect(transactions.write(async () => "never")).rejects.toThrow("No adapter.");
  expect(await transactions.write(async ({ id }) => id)).toBe("bound");
});
