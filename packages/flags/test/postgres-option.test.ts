/** The option `postgres` as a host uses it: through the plugin, over HTTP, and at the end of a process. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { featureFlags, featureFlagsPostgresMigration } from "@halyard/flags";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FreshPostgres, freshPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

let db: FreshPostgres;
let pool: Pool;
let host: Host;
const closers: (() => Promise<void>)[] = [];

async function openHost(migrate: boolean): Promise<{ host: Host; pool: Pool }> {
  const { database, close } = db.connect({ max: 6 });
  const opened = await startHost({ database, migrate, flags: { postgres: database } });
  closers.push(close, opened.close);
  return { host: opened, pool: database };
}

beforeAll(async () => {
  db = await freshPostgres();
  ({ host, pool } = await openHost(true));
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await db?.drop();
});

describe("before the tables are created", () => {
  test("flags can be evaluated and changed, and the error of an event says what to do", async () => {
    const admin = await host.person("first", "admin");
    expect((await host.createFlag({ key: "early", name: "N", type: "boolean" }, admin)).status).toBe(201);
    expect((await host.evaluate({ flagKey: "early" })).status).toBe(200);
    const answer = await host.request("/feature-flags/events", { flagKey: "early", event: "click" });
    expect([answer.status, answer.json.code]).toEqual([500, "STORAGE_ERROR"]);
    expect(answer.json.message).toContain("pool.query(featureFlagsPostgresMigration)");
  });
});

describe("with the tables", () => {
  beforeAll(() => pool.query(featureFlagsPostgresMigration));

  test("events are in the plugin's own tables, once, and statistics count them", async () => {
    const admin = await host.person("admin", "admin");
    const { json: flag } = await host.createFlag({ key: "k", name: "N", type: "boolean" }, admin);
    const send = () =>
      host.request(
        "/feature-flags/events",
        { flagKey: "k", event: "click", value: 3 },
        { "idempotency-key": "a" },
      );
    const [first, again] = [await send(), await send()];
    expect(first.json).toEqual({ success: true, eventId: expect.any(String) });
    expect(again.json).toEqual(first.json);
    const events = Array.from({ length: 10 }, (_, value) => ({ flagKey: "k", event: "click", value }));
    const batch = await host.request("/feature-flags/events/batch", { events });
    expect(batch.json).toMatchObject({ success: 10, failed: 0 });
    const { rows } = await pool.query(
      "select count(*)::int as stored from halyard_flag_event where flag_key = 'k'",
    );
    expect(rows).toEqual([{ stored: 11 }]);
    const stats = await host.call("GET", `/feature-flags/admin/flags/${flag.id}/stats`, { as: admin });
    expect(stats.json.byVariant[""].events.click).toMatchObject({ count: 11, sum: 48, mean: 48 / 11 });
  });

  test("health shows the bus, and a change reaches another process without polling", async () => {
    const admin = await host.person("another", "admin");
    const { host: other } = await openHost(false);
    const health = () => other.auth.api.getFeatureFlagsHealth();
    await expect.poll(async () => (await health()).bus, { timeout: 10_000 }).toBe("up");
    const { json: flag } = await host.createFlag(
      { key: "quick", name: "N", type: "number", enabled: true, defaultValue: 0 },
      admin,
    );
    const read = async () => (await other.evaluate({ flagKey: "quick" })).json.value;
    await expect.poll(read, { timeout: 5000, interval: 5 }).toBe(0);
    for (let value = 1; value <= 5; value++) {
      const path = `/feature-flags/admin/flags/${flag.id}`;
      await host.call("PATCH", path, { as: admin, body: { defaultValue: value } });
      await expect.poll(read, { timeout: 5000, interval: 5 }).toBe(value);
    }
  });

  test("a program that does not close the plugin ends when it has no other work", {
    timeout: 60_000,
  }, async () => {
    const program = fileURLToPath(new URL("fixtures/postgres-program.ts", import.meta.url));
    const url = String(pool.options.connectionString);
    const args = ["--conditions=@halyard/source", program, url];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 50_000 });
    expect(stdout).toContain("done");
  });
});

test("a value that is not a pool of pg is refused immediately", () => {
  for (const postgres of [{}, { query() {} }, "postgres://localhost/app"]) {
    expect(() => featureFlags({ postgres: postgres as never })).toThrow(
      new TypeError("The option `postgres` is not a pool. Pass a `Pool` of the package `pg`."),
    );
  }
});
