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
 * Statements after which a process is killed. A group of 16 events takes 16 for keys, 16 for events and one for the outbox,
 * so these are inside of each of the three, in the first group and in later ones.
 */
const DEATHS = [3, 16, 20, 32, 40, 66, 100];
/** The same while it counts: two for the lock, two for the hour, and one that removes the entries from the outbox. */
const COUNTING_DEATHS = [0, 1, 2, 3, 4];

interface Sent {
  readonly lines: string[];
  readonly signal: NodeJS.Signals | null;
}

/** Starts a sender that is killed after a number of statements, and returns its answers. */
function sendUntil(path: string, count: number, statements: number): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--conditions=@halyard/source", SENDER, path, String(count), String(statements)],
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

  /** What is stored is whole after every death: each event is counted or waits to be counted. */
  function read() {
    const numbers = db.prepare(
      'select (select count(*) from "featureFlagEvent") as events, (select count(*) from "featureFlagEventKey") as keys, ' +
        '(select coalesce(sum("count"), 0) / 1000000 from "featureFlagEventCount") as counted',
    );
    const entries = db.prepare('select "eventIds" from "featureFlagOutbox"').all() as { eventIds: string }[];
    const waiting = entries.flatMap(({ eventIds }) => eventIds.split(" ")).length;
    const { events, keys, counted } = numbers.get() as { events: number; keys: number; counted: number };
    expect(counted + waiting).toBe(events);
    return { events, keys, counted, waiting };
  }

  const answered = new Map<string, string>();
  for (const statements of [...DEATHS, Number.POSITIVE_INFINITY]) {
    const isLast = statements === Number.POSITIVE_INFINITY;
    const { lines, signal } = await sendUntil(path, COUNT, statements);
    expect([signal, lines.at(-1) === "done"]).toEqual(isLast ? [null, true] : ["SIGKILL", false]);
    for (const line of isLast ? lines.slice(0, -1) : lines) {
      const [number = "", eventId = ""] = line.split(" ");
      // A retry gets the first response again, from every later process.
      expect(answered.get(number) ?? eventId).toBe(eventId);
      answered.set(number, eventId);
    }
    const { events, keys } = read();
    expect(keys, `after ${statements} statements`).toBe(events);
    expect(events).toBeGreaterThanOrEqual(answered.size);
  }
  expect(answered.size).toBe(COUNT);
  const stored = db.prepare('select "eventId" from "featureFlagEvent"').all() as { eventId: string }[];
  expect(stored.map(({ eventId }) => eventId).sort()).toEqual([...answered.values()].sort());

  for (const statements of COUNTING_DEATHS) {
    expect((await sendUntil(path, 0, statements)).signal).toBe("SIGKILL");
    expect(read()).toMatchObject({ counted: 0, waiting: COUNT });
  }
  expect((await sendUntil(path, 0, Number.POSITIVE_INFINITY)).lines).toEqual([String(COUNT), "done"]);
  expect(read()).toMatchObject({ counted: COUNT, waiting: 0 });
}, 120_000);
