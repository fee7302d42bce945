/** Changes flags while PostgreSQL is stopped and killed, and lets processes die inside a change. */
import { recordEvidence } from "@halyard/services/evidence";
import { afterAll, expect, test } from "vitest";
import { seedOfRun } from "../engine/random.ts";
import { type Findings, NOTHING_LOST } from "../flag-lives.ts";
import { runDeaths } from "../write-deaths.ts";
import { runWriteStorm } from "../write-storm.ts";

/** HALYARD_KILLS reduces the number; the evidence is then not written. */
const FULL = 20;
const KILLS = Number(process.env["HALYARD_KILLS"] ?? FULL);
const DEATHS = 10 * KILLS;
const WRITES_PER_SECOND = 50;
const MAX_RECOVERY_MS = 5000;

const seed = seedOfRun();
const figures: Record<string, Record<string, string | number>> = {};

const figuresOf = (findings: Findings) => ({
  "changes attempted": findings.attempted,
  acknowledged: findings.acknowledged,
  "not acknowledged, of which committed": findings.committedSilently,
  "acknowledged and lost": findings.acknowledgedAndLost.length,
  "committed twice": findings.committedTwice.length,
  "rows unlike the audit log": findings.rowsUnlikeLog.length,
  "audit log": findings.verdict,
});

test(`no acknowledged change is lost when PostgreSQL is stopped ${KILLS} times and killed ${KILLS} times`, {
  timeout: 3_600_000,
}, async () => {
  const options = { stops: KILLS, kills: KILLS, writesPerSecond: WRITES_PER_SECOND, calmMs: 2000, seed };
  const { findings, ...result } = await runWriteStorm(options);
  console.log(`HALYARD_SEED=${seed}`, findings, result);
  expect(findings).toMatchObject(NOTHING_LOST);
  expect(result.evaluationsFailed).toBe(0);
  expect(result.longestRecoveryMs).toBeLessThanOrEqual(MAX_RECOVERY_MS);
  figures["PostgreSQL fails"] = {
    ...figuresOf(findings),
    "failures of the database": 2 * KILLS,
    "deaths of processes": 0,
    "evaluations meanwhile": result.evaluations,
    "of them failed": result.evaluationsFailed,
    "longest recovery, ms": result.longestRecoveryMs,
  };
});

test(`${DEATHS} processes that die inside a change leave all of it or nothing`, {
  timeout: 3_600_000,
}, async () => {
  const findings = await runDeaths({ deaths: DEATHS, seed });
  console.log(`HALYARD_SEED=${seed}`, findings);
  expect(findings).toMatchObject(NOTHING_LOST);
  figures["processes die"] = {
    ...figuresOf(findings),
    "failures of the database": 0,
    "deaths of processes": DEATHS,
  };
});

afterAll(() => {
  if (KILLS !== FULL || Object.keys(figures).length !== 2) return;
  recordEvidence("flag-kills", {
    what: "Flags, rules and overrides are created, changed and deleted over HTTP while PostgreSQL is stopped without a checkpoint and killed; then processes kill themselves at a random statement of a change, before or after it.",
    size: `${WRITES_PER_SECOND} changes a second, PostgreSQL stopped ${KILLS} times and killed ${KILLS} times; ${DEATHS} deaths of processes.`,
    checked:
      "Every acknowledged change has exactly one audit entry, every entry belongs to a change that was sent, the log verifies to its head, and the log applied to nothing gives exactly the rows of flags, rules and overrides. It would have failed on one lost change, one entry too many, or half a change.",
    suite: "packages/flags/test/long/kills.long.test.ts",
    seed,
    figures,
  });
});
