/** Checks with a million random operations that no organization receives another's data, by any endpoint or cache. */
import { fileURLToPath } from "node:url";
import { createRedisPrefix, spawnProgram } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";
import { freshPostgres } from "../databases.ts";
import { seedOfRun } from "../engine/random.ts";
import { startHost } from "../host.ts";
import { connectRedis, redisStorage } from "../redis-storage.ts";
import { type CanaryResult, compareTimes } from "../tenant-canaries.ts";

const ORGANIZATIONS = 200;
const OPERATIONS = 5_000;
const TIMED = 10_000;
const MAX_DIFFERENCE_MS = 5;
/** One process for each: through Better Auth alone, and with the fast path. */
const PATHS = ["ordinary", "fast"] as const;

const FIXTURE = fileURLToPath(new URL("../fixtures/canary-process.ts", import.meta.url));

const title = `${ORGANIZATIONS} organizations with ${OPERATIONS} random operations each never see each other's data`;

test(title, { timeout: 7_200_000 }, async () => {
  const seed = seedOfRun();
  const postgres = await freshPostgres();
  const redis = await createRedisPrefix();
  const client = await connectRedis(redis.url);
  const storage = redisStorage(client, redis.prefix);
  const { database, close } = postgres.connect({ max: 4 });
  const host = await startHost({
    database,
    secondaryStorage: storage,
    flags: { multiTenant: true, rateLimit: false },
  });
  onTestFinished(async () => {
    await host.close();
    await close();
    await postgres.drop();
    await client.close();
  });
  const share = ORGANIZATIONS / PATHS.length;
  const results = await Promise.all(
    PATHS.map((path, at) =>
      runProcess([postgres.url, redis.url, redis.prefix, seed + at, at * share, share, OPERATIONS, path]),
    ),
  );
  console.log(`HALYARD_SEED=${seed}`, ...results.map(({ byStatus }) => byStatus));
  for (const { leaks, failures, operations, ownTexts } of results) {
    expect(leaks).toEqual([]);
    expect(failures).toEqual([]);
    expect(operations).toBe(share * OPERATIONS);
    expect(ownTexts).toBeGreaterThan(OPERATIONS);
  }

  const owner = await host.person("timed");
  await host.organization(owner, "timed");
  const foreign = await host.auth.api.createFeatureFlag({
    body: { key: "foreign", name: "N", type: "boolean", organizationId: await otherOrganization() },
  });
  const times = await compareTimes(host, owner, foreign.id, TIMED);
  expect(Math.abs(times.foreign - times.missing)).toBeLessThan(MAX_DIFFERENCE_MS);
  recordEvidence("flag-tenants", {
    what: "Owners, members, API keys and anonymous visitors of many organizations send random operations of every endpoint, at their own organization, at others and at global flags. Every text of an organization names it.",
    size: `${ORGANIZATIONS} organizations, ${OPERATIONS} operations each, in two processes on one PostgreSQL database with sessions in Redis; ${TIMED} timed requests for a flag of another organization and for one that does not exist.`,
    checked: `No response has a text of another organization, none is a 5xx, and the median times of a foreign flag and a missing flag differ by less than ${MAX_DIFFERENCE_MS} ms. It would have failed on one foreign text.`,
    suite: "packages/flags/test/long/tenant-canaries.long.test.ts",
    seed,
    figures: {
      ...Object.fromEntries(results.map((result, at) => [PATHS[at], figuresOf(result)])),
      "one flag, 404": {
        "median for a foreign flag, ms": times.foreign.toFixed(2),
        "median for a missing flag, ms": times.missing.toFixed(2),
      },
    },
  });

  async function otherOrganization(): Promise<string> {
    return await host.organization(await host.person("other"), "other");
  }
});

async function runProcess(args: readonly (string | number)[]): Promise<CanaryResult> {
  const program = await spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", FIXTURE, ...args.map(String)],
    env: { NODE_OPTIONS: undefined },
  });
  onTestFinished(() => program.kill());
  expect(await program.exited, program.output()).toBe(0);
  return JSON.parse(program.output().trim().split("\n").at(-1) ?? "");
}

function figuresOf({ operations, ownTexts, byStatus }: CanaryResult) {
  const sumOf = (first: number) =>
    Object.entries(byStatus).reduce(
      (sum, [status, count]) => sum + (Math.floor(Number(status) / 100) === first ? count : 0),
      0,
    );
  return {
    operations,
    "answered with 2xx": sumOf(2),
    "answered with 4xx": sumOf(4),
    "responses with the caller's own texts": ownTexts,
    "texts of other organizations": 0,
  };
}
