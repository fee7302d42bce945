/** Processes that are killed while they record events, and processes that repeat their requests. */
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
const COUNT = 600;

/** Starts a sender, kills it after a number of answers, and returns the answers. */
function sendUntil(path: string, answers: number): Promise<{ lines: string[]; isDone: boolean }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [SENDER, path, String(COUNT), String(answers)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.on("error", reject);
    child.on("close", () => {
      const lines = text.split("\n").slice(0, -1);
      resolve({ lines: lines.filter((line) => line !== "done"), isDone: lines.at(-1) === "done" });
    });
  });
}

test("every event is stored and counted once, even if the process that recorded it was killed", async () => {
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
  for (const answers of [30, 200, 400, Number.POSITIVE_INFINITY]) {
    const { lines, isDone } = await sendUntil(path, answers);
    for (const line of lines) {
      const [number = "", eventId = ""] = line.split(" ");
      // A retry gets the first response again, from every later process.
      expect(answered.get(number) ?? eventId).toBe(eventId);
      answered.set(number, eventId);
    }
    expect([lines.length, isDone]).toEqual(
      answers === Number.POSITIVE_INFINITY ? [COUNT, true] : [answers, false],
    );
  }
  expect(answered.size).toBe(COUNT);
  const stored = db.prepare('select "eventId" from "featureFlagEvent"').all() as { eventId: string }[];
  expect(stored.map(({ eventId }) => eventId).sort()).toEqual([...answered.values()].sort());
  const rollups = db.prepare(
    'select sum("count") as count, sum("sumUnits") as sum from "featureFlagEventCount"',
  );
  expect(rollups.get()).toEqual({ count: COUNT * 1_000_000, sum: COUNT });
}, 120_000);
