/** Half an hour of evaluations and changes: memory does not grow, and every response keeps its promises. */
import { recordEvidence } from "@halyard/services/evidence";
import { expect, test } from "vitest";
import { runFlagSoak } from "../soak.ts";

/** HALYARD_SOAK_MINUTES shortens the run; growth is then not judged and the evidence not written. */
const FULL = 30;
const MINUTES = Number(process.env["HALYARD_SOAK_MINUTES"] ?? FULL);
const EVALUATIONS = 500;
const WRITES = 5;
const MAX_SLOPE_BYTES = 1_000_000;

const title = `${MINUTES} minutes of ${EVALUATIONS} evaluations and ${WRITES} changes a second leave no growth, no torn and no old response`;

test(title, { timeout: (MINUTES + 10) * 60_000 }, async () => {
  const result = await runFlagSoak({
    minutes: MINUTES,
    evaluationsPerSecond: EVALUATIONS,
    writesPerSecond: WRITES,
    warmUp: 0.4,
  });
  console.log(result);
  expect(result.problems).toEqual([]);
  expect(result.evaluations).toBeGreaterThan(0.95 * MINUTES * 60 * EVALUATIONS);
  expect(result.writes).toBeGreaterThan(0.95 * MINUTES * 60 * WRITES);
  if (MINUTES < FULL) return;
  for (const slope of result.heapSlopes) expect(slope).toBeLessThan(MAX_SLOPE_BYTES);
  recordEvidence("flag-soak", {
    what: "Two processes on one PostgreSQL database evaluate three flags at once, while changes of these flags go to either process.",
    size: `${MINUTES} minutes, ${EVALUATIONS} requests and ${WRITES} changes a second.`,
    checked:
      "All flags of a response have one revision and whole values; no later request to a process sees an older revision; a change is in every response a second after it was acknowledged, unless the response says that it may be stale; the heap, after a collection, grows by less than 1 MB an hour after the warm-up.",
    suite: "packages/flags/test/long/soak.long.test.ts",
    figures: {
      "two processes": {
        requests: result.evaluations,
        changes: result.writes,
        "slowest change in another response, ms": Math.round(result.slowestMs),
        "responses marked as stale": result.staleResponses,
        "heap at the end, MiB": result.heapsAtEnd.map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(", "),
        "heap slope, MB an hour": result.heapSlopes.map((slope) => (slope / 1e6).toFixed(2)).join(", "),
      },
    },
  });
});
