/** Checks that a node evaluates from its snapshot while the database is unreachable, and catches up afterwards. */
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { afterEach, describe, expect, test } from "vitest";
import { createTables } from "../src/model/tables.ts";
import type { FlagStore } from "../src/store/flag-store.ts";
import { createFlagStore } from "../src/store/store.ts";
import { by, flagInput } from "./contract/store-host.ts";
import { openTcpProxy, type TcpProxy } from "./contract/tcp-proxy.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

/** A node whose connection to the database the test can cut, and a second node that stays connected. */
async function setUp(): Promise<{
  line: TcpProxy;
  node: FlagStore;
  warnings: string[];
  elsewhere: FlagStore;
}> {
  const { url, drop } = await createPostgresDatabase();
  cleanUp.push(drop);
  const line = await openTcpProxy(url);
  cleanUp.push(line.close);
  const warnings: string[] = [];
  const open = async (connectionString: string, warn: (message: string) => void) => {
    const pool = openPool({ connectionString, max: 3 });
    const options = {
      database: pool,
      secret: "a secret that is only good enough for tests, which is all it does",
      logger: { disabled: true },
      telemetry: { enabled: false },
      plugins: [{ id: "feature-flags", schema: createTables() }],
    };
    await (await getMigrations(options)).runMigrations();
    const { adapter } = await betterAuth(options).$context;
    const store = createFlagStore(adapter as DBAdapter, { warn, pollMs: 100 });
    cleanUp.push(
      () => pool.end(),
      () => store.close(),
    );
    return store;
  };
  const elsewhere = await open(url, () => {});
  return { line, node: await open(line.url, (message) => warnings.push(message)), warnings, elsewhere };
}

describe.each([
  ["is cut", "cut"],
  ["hangs", "hold"],
] as const)("while the connection to the database %s", (_how, what) => {
  test("evaluations continue without delay, are stale after 2 s, log one warning, and become current after the outage", async () => {
    const { line, node, warnings, elsewhere } = await setUp();
    const { key } = await elsewhere.createFlag(by("t"), flagInput({ enabled: true, defaultValue: true }));
    const evaluate = async () => {
      const { snapshot, stale } = await node.snapshot("t");
      const value = snapshot.flags.get(key)?.compiled.evaluate({}).value;
      return { value, stale, revision: snapshot.revision };
    };
    expect(await evaluate()).toMatchObject({ value: true, stale: false, revision: 1 });

    line[what]();
    await elsewhere.createFlag(by("t"), flagInput());
    const answers: unknown[] = [];
    await expect
      .poll(
        async () => {
          // With a snapshot, the evaluation resolves before any I/O could.
          const turn = new Promise<undefined>((resolve) => setImmediate(resolve, undefined));
          const answer = await Promise.race([evaluate(), turn]);
          answers.push([answer?.value, answer?.revision]);
          return answer?.stale;
        },
        { timeout: 10_000, interval: 20 },
      )
      .toBe(true);
    expect(answers).toEqual(answers.map(() => [true, 1]));
    expect(await node.health("t")).toMatchObject({ stale: true, revision: 1 });

    line.restore();
    await expect
      .poll(evaluate, { timeout: 15_000, interval: 50 })
      .toMatchObject({ stale: false, revision: 2 });
    expect(warnings.length).toBeLessThanOrEqual(1);
    expect(await node.health("t")).toMatchObject({ stale: false });
  }, 60_000);
});

test("without a snapshot, evaluations fail fast during an outage and recover after it", async () => {
  const { line, node, elsewhere } = await setUp();
  await elsewhere.createFlag(by("t"), flagInput());
  line.cut();
  for (let call = 0; call < 3; call++) {
    await expect(node.snapshot("t")).rejects.toMatchObject({ code: "STORAGE_ERROR", status: 503 });
  }
  line.restore();
  await expect
    .poll(async () => (await Promise.resolve(node.snapshot("t")).catch(() => undefined))?.snapshot.revision, {
      timeout: 10_000,
    })
    .toBe(1);
});
