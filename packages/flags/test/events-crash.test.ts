/** Processes that are killed while they write events, and processes that repeat their requests. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { expect, onTestFinished, test } from "vitest";
import { createTables } from "../src/model/tables.ts";

const SENDER = fileURLToPath(new URL("./fixtures/event-sender.ts", import.meta.url));
const COUNT = 200;

/**
 * Statements after which a process is killed. A group of 16 events takes about 16 for keys, 16 for events and 2 for the
 * roll-up, so these are inside of each of the three, in the first group and in later ones.
 */
const DEATHS = [3, 16, 20, 33, 40, 66, 100];

interface Sent {
  readonly lines: string[];
  readonly signal: NodeJS.Signals | null;
}

/** Starts a sender that is killed after a number of statements, and returns its answers. */
function sendUntil(path: string, statements: number): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--conditions=@halyard/source", SENDER, path, String(COUNT), String(statements)],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.on("error", reject);
    child.on("close", (_code, signal) => resolve({ lines: text.split("\n").slice(0, -1), signal }));
  });
}

test("every event is stored and counted once, even if processes were killed inside the write", async () => {
  const directory = mkdtempSync(join(tmpdir(), "halyard-flags-crash-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "app.db");
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  const auth = betterAuth({
    database: db,
    logger: { disabled: true },
    telemetry: { enabled: false },
    secret: "a secret that is only good enough for tests, which is all it does",
    plugins: [{ id: "feature-flags", schema: createTables() }],
  });
  await (await getMigrations(auth.options)).runMigrations();

  const answered = new Map<string, string>();
  for (const statements of [...DEATHS, Number.POSITIVE_INFINITY]) {
    const isLast = statements === Number.POSITIVE_INFINITY;
    const { lines, signal } = await sendUntil(path, statements);
    expect([signal, lines.at(-1) === "done"]).toEqual(isLast ? [null, true] : ["SIGKILL", false]);
    for (const line of isLast ? lines.slice(0, -1) : lines) {
      const [number = "", eventId = ""] = line.split(" ");
      // A retry gets the first response again, from every later process.
      expect(answered.get(number) ?? eventId).toBe(eventId);
      answered.set(number, eventId);
    }
    // What is stored is whole after every death: each key has its event, and the roll-ups count all of them.
    const counted = db.prepare(
      'select (select count(*) from "featureFlagEvent") as events, (select count(*) from "featureFlagEventKey") as keys, ' +
        '(select coalesce(sum("sumUnits"), 0) from "featureFlagEventCount") as sum',
    );
    const { events, keys, sum } = counted.get() as { events: number; keys: number; sum: number };
    expect({ keys, sum }, `after ${statements} statements`).toEqual({ keys: events, sum: events });
    expect(events).toBeGreaterThanOrEqual(answered.size);
  }
  expect(answered.size).toBe(COUNT);
  const stored = db.prepare('select "eventId" from "featureFlagEvent"').all() as { eventId: string }[];
  expect(stored.map(({ eventId }) => eventId).sort()).toEqual([...answered.values()].sort());
  const rollups = db.prepare(
    'select sum("count") as count, sum("sumUnits") as sum from "featureFlagEventCount"',
  );
  expect(rollups.get()).toEqual({ count: COUNT * 1_000_000, sum: COUNT });
}, 120_000);
