/** Processes that die inside a write of a flag. The suite in `long` has the full size. */
import { expect, test } from "vitest";
import { seedOfRun } from "./engine/random.ts";
import { NOTHING_LOST } from "./flag-lives.ts";
import { runDeaths } from "./write-deaths.ts";

test("a process that dies inside a write leaves the whole change with its audit entry, or nothing", async () => {
  const seed = seedOfRun();
  const found = await runDeaths({ deaths: 6, seed });
  expect(found, `HALYARD_SEED=${seed}`).toMatchObject(NOTHING_LOST);
  expect(found.acknowledged).toBeLessThan(found.attempted);
}, 180_000);
