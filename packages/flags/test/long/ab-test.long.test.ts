/** Runs the simulated A/B test with 10,000 subjects. */
import { featureFlagsPostgresMigration } from "@halyard/flags";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, test } from "vitest";
import { runAbTest } from "../ab-test.ts";
import { freshPostgres } from "../databases.ts";
import { seedOfRun } from "../engine/random.ts";
import { startHost } from "../host.ts";

const FULL = 10_000;
/** HALYARD_SUBJECTS reduces the number; the evidence is then not written. */
const SUBJECTS = Number(process.env["HALYARD_SUBJECTS"] ?? FULL);

test(`exposures, subjects and converters of ${SUBJECTS} subjects equal the books`, {
  timeout: 3_600_000,
}, async () => {
  const seed = seedOfRun();
  const db = await freshPostgres();
  const { database, close } = db.connect();
  await database.query(featureFlagsPostgresMigration);
  const host = await startHost({ database, flags: { postgres: database } });
  try {
    const result = await runAbTest({ host, subjects: SUBJECTS, seed, parallel: 200 });
    expect(result.counted, `HALYARD_SEED=${seed}`).toEqual(result.books);
    if (SUBJECTS !== FULL) return;
    recordEvidence("ab-test", {
      what: "A simulated A/B test over HTTP on PostgreSQL (option `postgres`): pages rendered on the server, hydrated clients, reads of server code, sign-ins and sign-outs, events of a payment provider that knows users only. The network loses requests and responses and repeats requests. The weights of a flag change in the middle.",
      size: `${SUBJECTS} people, three flags.`,
      checked:
        "Exposures, unique subjects, and for each event its count, sum and converters, per arm, those of users who did not get their arm by chance apart, equal the books that the script keeps of what each person saw and did. It would have failed on one too many or too few.",
      suite: "packages/flags/test/long/ab-test.long.test.ts",
      seed,
      figures: {
        PostgreSQL: {
          subjects: SUBJECTS,
          "sign-ins": result.signIns,
          "flags shown": result.exposures,
          "requests lost, answered without a response, or repeated": result.faults,
          "figures that differ from the books": 0,
        },
      },
    });
  } finally {
    await host.close();
    await close();
    await db.drop();
  }
});
