import { expect, onTestFinished, test, vi } from "vitest";
import { createPostgresDatabase } from "./postgres.ts";
import { openPool } from "./postgres-pool.ts";

test("connections that end while they are idle or in use do not end the process", async () => {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const [pool, other] = [openPool({ connectionString: url }), openPool({ connectionString: url })];
  onTestFinished(async () => void (await Promise.all([pool.end(), other.end()])));
  const [idle, used] = [await pool.connect(), await pool.connect()];
  idle.release();
  const ended = new Promise((resolve) => used.once("end", resolve));
  await other.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  await ended;
  await expect(used.query("select 1")).rejects.toThrow();
  used.release(true);
  await vi.waitFor(() => expect(pool.totalCount).toBe(0));
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});
