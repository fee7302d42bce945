/** Checks with a million random operations that no organization receives another's data, by any endpoint or cache. */
import { createRedisPrefix } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";
import { freshPostgres } from "../databases.ts";
import { createRandom, seedOfRun } from "../engine/random.ts";
import { startHost } from "../host.ts";
import { connectRedis, redisStorage } from "../redis-storage.ts";
import { compareTimes, runCanaries } from "../tenant-canaries.ts";

const ORGANIZATIONS = 200;
const OPERATIONS = 5_000;
const TIMED = 10_000;
const MAX_DIFFERENCE_MS = 5;

const title = `${ORGANIZATIONS} organizations with ${OPERATIONS} random operations each never see each other's data`;

test(title, { timeout: 7_200_000 }, async () => {
  const seed = seedOfRun();
  const postgres = await freshPostgres();
  const redis = await createRedisPrefix();
  const client = await connectRedis(redis.url);
  const { database, close } = postgres.connect({ max: 10 });
  const host = await startHost({
    database,
    secondaryStorage: redisStorage(client, redis.prefix),
    flags: { multiTenant: true },
  });
  onTestFinished(async () => {
    await host.close();
    await close();
    await postgres.drop();
    await client.close();
  });
  const result = await runCanaries(host, {
    organizations: ORGANIZATIONS,
    operationsPerOrganization: OPERATIONS,
    random: createRandom(seed),
  });
  console.log(`HALYARD_SEED=${seed}`, result.byStatus);
  expect(result.leaks.slice(0, 20)).toEqual([]);
  expect(result.failures.slice(0, 20)).toEqual([]);
  expect(result.ownTexts).toBeGreaterThan(OPERATIONS);

  const owner = await host.person("timed");
  await host.organization(owner, "timed");
  const foreign = await host.auth.api.createFeatureFlag({
    body: { key: "foreign", name: "N", type: "boolean", organizationId: await otherOrganization() },
  });
  const times = await compareTimes(host, owner, foreign.id, TIMED);
  expect(Math.abs(times.foreign - times.missing)).toBeLessThan(MAX_DIFFERENCE_MS);
  recordEvidence("flag-tenants", {
    what: "Owners, members, API keys and anonymous visitors of many organizations send random operations of every endpoint, at their own organization, at others and at global flags. Every text of an organization names it.",
    size: `${ORGANIZATIONS} organizations, ${OPERATIONS} operations each, on PostgreSQL with sessions and limits in Redis; ${TIMED} timed requests for a flag of another organization and for one that does not exist.`,
    checked: `No response has a text of another organization, none is a 5xx, and the median times of a foreign flag and a missing flag differ by less than ${MAX_DIFFERENCE_MS} ms. It would have failed on one foreign text.`,
    suite: "packages/flags/test/long/tenant-canaries.long.test.ts",
    seed,
    figures: {
      PostgreSQL: {
        operations: result.operations,
        "responses with the caller's own texts": result.ownTexts,
        "texts of other organizations": 0,
        "median for a foreign flag, ms": times.foreign.toFixed(2),
        "median for a missing flag, ms": times.missing.toFixed(2),
      },
    },
  });

  async function otherOrganization(): Promise<string> {
    return await host.organization(await host.person("other"), "other");
  }
});
