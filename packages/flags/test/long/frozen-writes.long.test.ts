/** Freezes a process inside its writes, by SIGSTOP and by its network, and measures the switches of other processes. */
import { recordEvidence } from "@halyard/services/evidence";
import { expect, test } from "vitest";
import { seedOfRun } from "../engine/random.ts";
import { runFreezes, WHOLE } from "../frozen-writes.ts";

/** HALYARD_FREEZES reduces the number; the evidence is then not written. */
const FULL = 100;
const FREEZES = Number(process.env["HALYARD_FREEZES"] ?? FULL);

test(`${FREEZES} freezes at random moments hold up a switch of the same tenant for 10 s at most, and others for 5 s`, {
  timeout: 3_600_000,
}, async () => {
  const seed = seedOfRun();
  const result = await runFreezes({ freezes: FREEZES, seed });
  console.log(`HALYARD_SEED=${seed}`, result);
  const { frozenInside, longestMs } = result;
  expect(result).toMatchObject(WHOLE);
  expect(frozenInside.stop).toBeGreaterThan(0);
  expect(frozenInside.network).toBeGreaterThan(0);
  expect(longestMs.sameTenant).toBeLessThanOrEqual(10_000);
  expect(longestMs.sameCounter).toBeLessThanOrEqual(5000);
  expect(longestMs.otherCounter).toBeLessThanOrEqual(5000);
  if (FREEZES !== FULL) return;
  recordEvidence("flag-freezes", {
    what: "A process that changes a flag all the time is frozen at random moments: by SIGSTOP, or by a proxy that stops its network to PostgreSQL. Another process then switches three flags at once, and the frozen one continues.",
    size: `${FREEZES} freezes, half of each kind, on PostgreSQL with the pool as \`database\`.`,
    checked:
      "The time of each switch. Every change that the frozen process was told is stored has exactly one audit entry, every one that was refused has none, no change is stored twice, the audit log verifies to its head, and the process did not end.",
    suite: "packages/flags/test/long/frozen-writes.long.test.ts",
    seed,
    figures: {
      PostgreSQL: {
        "freezes inside a transaction, by SIGSTOP": frozenInside.stop,
        "freezes inside a transaction, by the network": frozenInside.network,
        "longest switch of the same tenant, ms": longestMs.sameTenant,
        "longest switch of a tenant with the same counter, ms": longestMs.sameCounter,
        "longest switch of any other tenant, ms": longestMs.otherCounter,
        "changes of the frozen process": result.changes,
        "of them acknowledged": result.acknowledged,
        "of them refused with 503": result.refused,
        "of them with an unknown outcome": result.unknown,
        "acknowledged and lost": result.acknowledgedAndLost.length,
        "refused and stored": result.refusedAndCommitted.length,
        "stored twice": result.committedTwice.length,
        "audit log": result.verdict,
      },
    },
  });
});
