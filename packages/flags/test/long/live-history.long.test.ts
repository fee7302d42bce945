/** Random writes, session changes, cuts and kills for 15 minutes, with 500 pages on three processes. */

import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";
import { freshPostgres } from "../databases.ts";
import { createRandom, seedOfRun } from "../engine/random.ts";
import { runHistory } from "../live/history.ts";
import { createNodes } from "../live/nodes.ts";

const DURATION_MS = Number(process.env["HALYARD_HISTORY_MS"] ?? 15 * 60_000);
const PAGES = Number(process.env["HALYARD_HISTORY_PAGES"] ?? 500);
const PROCESSES = 3;

const title = `${PAGES} pages on ${PROCESSES} processes end with the values of a fresh evaluation, and none goes back or sees another user's`;

test(title, { timeout: DURATION_MS + 600_000 }, async () => {
  const seed = seedOfRun();
  const db = await freshPostgres();
  const nodes = await createNodes(db.url, PROCESSES);
  const opened: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    await nodes.close();
    for (const close of opened) await close();
    await db.drop();
  });
  const result = await runHistory({
    open() {
      const { database, close } = db.connect({ max: 10 });
      opened.push(close);
      return database;
    },
    pages: PAGES,
    // Writes come from two more processes.
    processes: 2,
    nodes,
    durationMs: DURATION_MS,
    random: createRandom(seed),
  });
  expect(result, `HALYARD_SEED=${seed}`).toMatchObject({
    differences: [],
    backward: [],
    leaks: [],
    afterEnd: [],
  });
  recordEvidence("live-flags", {
    what: "Pages subscribe to live flags while flags, overrides and active organizations change at random, sessions end, connections are cut, and processes and the bus are killed.",
    size: `${PAGES} pages on ${PROCESSES} processes with one PostgreSQL database and one Redis, for ${Math.round(DURATION_MS / 1000)} s.`,
    checked:
      "At the end every page has the values of a fresh evaluation. No page was told an older value after a newer one, no frame has a text of another user or of an organization that its user is not a member of, and an ended session gets no frame after 6 s.",
    suite: "packages/flags/test/long/live-history.long.test.ts",
    seed,
    figures: { PostgreSQL: { steps: result.steps, frames: result.frames, kills: result.kills } },
  });
});
