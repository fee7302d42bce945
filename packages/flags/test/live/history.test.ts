/** A short random history on SQLite and PostgreSQL. The suite in `long` runs for 15 minutes. */
import { describe, expect, onTestFinished, test } from "vitest";
import { freshPostgres, freshSqlite } from "../databases.ts";
import { createRandom, seedOfRun } from "../engine/random.ts";
import { runHistory } from "./history.ts";

const DURATION_MS = Number(process.env["HALYARD_HISTORY_MS"] ?? 2000);

describe.each([
  ["SQLite", freshSqlite, 1],
  ["PostgreSQL", freshPostgres, 2],
] as const)("on %s", (_name, freshDatabase, processes) => {
  test("every page ends with the values of a fresh evaluation, and none goes back or sees another user's", async () => {
    const seed = seedOfRun();
    const db = await freshDatabase();
    const opened: (() => Promise<void>)[] = [];
    onTestFinished(async () => {
      for (const close of opened) await close();
      await db.drop();
    });
    const result = await runHistory({
      open() {
        const { database, close } = db.connect();
        opened.push(close);
        return database;
      },
      pages: 6,
      processes,
      durationMs: DURATION_MS,
      random: createRandom(seed),
    });
    expect(result, `HALYARD_SEED=${seed}`).toMatchObject({
      differences: [],
      backward: [],
      leaks: [],
      afterEnd: [],
    });
    expect(result.steps).toBeGreaterThan(10);
  }, 60_000);
});
