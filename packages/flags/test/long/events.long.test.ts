/** Sends a million events while applications, connections and the database are killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { type PrivateServer, startPostgres } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, test } from "vitest";
import { seedOfRun } from "../engine/random.ts";
import { runStorm } from "../event-storm.ts";

/** HALYARD_EVENTS reduces the number; the evidence is then not written. */
const FULL = 1_000_000;
const EVENTS = Number(process.env["HALYARD_EVENTS"] ?? FULL);
const KILLS = { app: 20, connection: 40, server: 5 };

const title = `of ${EVENTS} events, every one that was acknowledged is counted exactly once`;

test(title, { timeout: 3_600_000 }, async () => {
  const seed = seedOfRun();
  const server = await startPostgres();
  try {
    const result = await runStorm({
      url: server.url,
      events: EVENTS,
      seed,
      appKills: KILLS.app,
      connectionKills: KILLS.connection,
      killServer: {
        times: KILLS.server,
        async kill() {
          await server.kill();
          await restart(server);
        },
      },
    });
    console.log(`HALYARD_SEED=${seed}`, result);
    expect(result).toMatchObject({ missing: 0, storedTwice: 0, wrongRollups: 0 });
    expect(result.rowsStored).toBe(
      result.distinct - result.abandoned + result.abandonedStored + result.withoutKey.stored,
    );
    expect(result.appKills).toBeGreaterThan(0);
    expect(result.connectionKills).toBeGreaterThan(0);
    expect(result.serverKills).toBeGreaterThan(0);
    if (EVENTS !== FULL) return;
    recordEvidence("events", {
      what: "Events over HTTP into three processes on one PostgreSQL (option `postgres`), in batches of 100 and one by one, 30 % of them sent more than once, some 64 times at the same moment. Meanwhile processes, connections and the database server are killed. Whoever gets no answer sends the same again; some never do.",
      size: `${result.sent} events.`,
      checked:
        "Every event that was acknowledged, with a key or without, has exactly one row; no key has two; each hourly roll-up has the count of its rows. It would have failed on one event too many or too few.",
      suite: "packages/flags/test/long/events.long.test.ts",
      seed,
      figures: {
        PostgreSQL: {
          "events sent": result.sent,
          "different events with a key": result.distinct,
          "64 requests for the same events at once, times": result.races,
          "processes killed": result.appKills,
          "connections killed": result.connectionKills,
          "database server killed": result.serverKills,
          "requests without an answer": result.requestsThatFailed,
          "acknowledged and missing": result.missing,
          "stored twice": result.storedTwice,
          "roll-ups that differ from their rows": result.wrongRollups,
          "never acknowledged": result.abandoned,
          "of those, stored (once)": result.abandonedStored,
        },
      },
    });
  } finally {
    await server.stop();
  }
});

/** Kills spread over fewer events, so that more of them fall between a write and its fold. */
const HUNDRED = { app: 60, connection: 30, server: 10 };

test("of 100,000 events with 100 kills and late commits, each is counted once", {
  timeout: 3_600_000,
}, async () => {
  const seed = seedOfRun();
  const server = await startPostgres();
  try {
    const result = await runStorm({
      url: server.url,
      events: 100_000,
      seed,
      appKills: HUNDRED.app,
      connectionKills: HUNDRED.connection,
      lateCommits: 200,
      killServer: {
        times: HUNDRED.server,
        async kill() {
          await server.kill();
          await restart(server);
        },
      },
    });
    console.log(`HALYARD_SEED=${seed}`, result);
    expect(result).toMatchObject({ missing: 0, storedTwice: 0, wrongRollups: 0 });
    expect(result.lateCommits).toBeGreaterThan(0);
    expect(result.appKills + result.serverKills).toBeGreaterThan(0);
  } finally {
    await server.stop();
  }
});

/** PostgreSQL does not start while child processes of the killed server are still running. */
async function restart(server: PrivateServer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await server.restart();
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      await sleep(500);
    }
  }
}
