/** The storm of events at a small size. `long/events.long.test.ts` runs it at full size and kills the database, too. */
import { expect, test } from "vitest";
import { freshPostgres } from "./databases.ts";
import { seedOfRun } from "./engine/random.ts";
import { runStorm } from "./event-storm.ts";

test("every acknowledged event is counted once while processes are killed and commits are late", {
  timeout: 120_000,
}, async () => {
  const seed = seedOfRun();
  const { url, drop } = await freshPostgres();
  const kills = { appKills: 3, connectionKills: 3 };
  const result = await runStorm({ url, events: 5000, seed, lateCommits: 5, ...kills });
  await drop();
  expect(result, `HALYARD_SEED=${seed}`).toMatchObject({ missing: 0, storedTwice: 0, wrongRollups: 0 });
  expect(result.lateCommits).toBeGreaterThan(0);
});
