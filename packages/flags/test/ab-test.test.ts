/** Runs a simulated A/B test on every kind of event log and compares the statistics with the books of the script. */
import { featureFlagsPostgresMigration } from "@halyard/flags";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AbTestResult, runAbTest } from "./ab-test.ts";
import { freshPostgres } from "./databases.ts";
import { seedOfRun } from "./engine/random.ts";
import { startHost } from "./host.ts";
import { memoryHost } from "./memory-host.ts";

const SUBJECTS = 60;

function check(result: AbTestResult, seed: number): void {
  expect(result.counted, `HALYARD_SEED=${seed}`).toEqual(result.books);
  expect(result.faults).toBeGreaterThan(0);
  expect(result.signIns).toBeGreaterThan(SUBJECTS / 3);
  const arms = ["headline", "pricing"].map((flag) => Object.keys(result.books[flag] ?? {}));
  for (const names of arms) expect(names).toEqual(expect.arrayContaining(["a", "b"]));
  // Events without an exposure are rare among few subjects, whose ids are random.
  expect(arms.flat()).toContain("");
}

describe("guide/flags-statistics: Statistics of a flag (A/B test)", () => {
  const seed = seedOfRun();

  test("exposures, subjects and converters per arm equal the books, on SQLite", {
    timeout: 120_000,
  }, async () => {
    check(await runAbTest({ host: await memoryHost(), subjects: SUBJECTS, seed }), seed);
  });

  test("exposures, subjects and converters per arm equal the books, with the option postgres", {
    timeout: 120_000,
  }, async () => {
    const db = await freshPostgres();
    const { database, close } = db.connect();
    await database.query(featureFlagsPostgresMigration);
    const host = await startHost({ database, flags: { postgres: database } });
    onTestFinished(async () => {
      await host.close();
      await close();
      await db.drop();
    });
    check(await runAbTest({ host, subjects: SUBJECTS, seed }), seed);
  });
});
