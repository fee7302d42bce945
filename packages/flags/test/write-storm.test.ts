/** Writes of flags while PostgreSQL fails. The suite in `long` has the full size. */
import { expect, test } from "vitest";
import { seedOfRun } from "./engine/random.ts";
import { NOTHING_LOST } from "./flag-lives.ts";
import { runWriteStorm } from "./write-storm.ts";

test("no acknowledged change is lost when PostgreSQL is stopped or killed, and evaluations go on", async () => {
  const seed = seedOfRun();
  const options = { stops: 1, kills: 1, writesPerSecond: 50, calmMs: 500, seed };
  const { findings, evaluationsFailed } = await runWriteStorm(options);
  expect(findings, `HALYARD_SEED=${seed}`).toMatchObject(NOTHING_LOST);
  expect(evaluationsFailed).toBe(0);
  expect(findings.acknowledged).toBeGreaterThan(0);
}, 180_000);
