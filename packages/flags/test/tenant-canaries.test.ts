/** Checks with random operations that no organization receives another's data. The suite in `long` has the full size. */
import { expect, test } from "vitest";
import { createRandom, seedOfRun } from "./engine/random.ts";
import { memoryHost } from "./memory-host.ts";
import { runCanaries } from "./tenant-canaries.ts";

test("no response to a random operation shows a text of another organization", async () => {
  const seed = seedOfRun();
  const host = await memoryHost({ flags: { multiTenant: true } });
  const result = await runCanaries(host, {
    organizations: 10,
    operationsPerOrganization: 40,
    random: createRandom(seed),
  });
  expect(result, `HALYARD_SEED=${seed}`).toMatchObject({ leaks: [], failures: [] });
  expect(result.ownTexts).toBeGreaterThan(40);
});
