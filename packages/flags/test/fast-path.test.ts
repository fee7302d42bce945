/** The fast path gives the answers of Better Auth, and gives them itself. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BothPaths, compare, invite, type People, plant, startBothPaths } from "./both-paths.ts";

const SEED = Number(process.env["HALYARD_SEED"] ?? Math.floor(Math.random() * 2 ** 32));

describe.each([
  ["one set of flags", { limit: 60 }],
  ["flags of organizations", { multiTenant: true }],
  ["sessions copied into cookies", { cookieCache: true }],
])("with %s", (_name, options) => {
  let paths: BothPaths;
  let people: People;
  let keys: string[];
  beforeAll(async () => {
    paths = await startBothPaths(options);
    people = await invite(paths.host);
    keys = await plant(paths.host, people);
  });
  afterAll(() => paths.close());

  test("both paths answer generated requests with the same bytes", { timeout: 120_000 }, async () => {
    const { requests, byStatus } = await compare(paths, people, keys, { requests: 500, seed: SEED });
    expect(byStatus[200]).toBeGreaterThan(requests / 3);
    expect(byStatus[400]).toBeGreaterThan(0);
    // Most need no Better Auth; otherwise this would have compared it with itself.
    expect(paths.passedOn()).toBeLessThan(requests * 0.7);
  });
});
