import { describe, expect, onTestFinished, test } from "vitest";
import { readWriteTimeouts, type WriteTimeouts, watchWriteTimeouts } from "../src/store/write-timeouts.ts";
import { type FreshDatabase, freshMariadb, freshPostgres, freshSqlite } from "./databases.ts";

async function connect<Driver>(opening: Promise<FreshDatabase<Driver>>): Promise<Driver> {
  const { connect: open, drop } = await opening;
  onTestFinished(drop);
  const { database, close } = open();
  onTestFinished(close);
  return database;
}

describe("timeouts for frozen processes", () => {
  test.each([
    ["missing", undefined],
    ["missing", "-c lock_timeout=2s"],
    ["set", "-c lock_timeout=2s -c idle_in_transaction_session_timeout=5s"],
  ])("are %s on a PostgreSQL whose connections have the options %s", async (state, options) => {
    const pool = await connect(freshPostgres(options === undefined ? {} : { options }));
    expect(await readWriteTimeouts(() => undefined, pool)).toBe(state);
  });

  test("are missing on a MariaDB with its defaults", async () => {
    expect(await readWriteTimeouts(await connect(freshMariadb()), undefined)).toBe("missing");
  });

  test("are asked again until they are set, at most once a minute", async () => {
    const states: WriteTimeouts[] = ["unknown", "missing", "set", "missing"];
    let nowMs = 0;
    const timeouts = watchWriteTimeouts(
      async () => states.shift() ?? "unknown",
      () => nowMs,
    );
    const read: WriteTimeouts[] = [];
    for (nowMs of [0, 59_999, 60_000, 119_999, 120_000, 1_000_000]) read.push(await timeouts());
    expect(read).toEqual(["unknown", "unknown", "missing", "missing", "set", "set"]);
  });

  test("are unknown where nothing can be asked, or nothing answers", async () => {
    const { connect: open, drop } = await freshPostgres();
    onTestFinished(drop);
    const { database: pool, close } = open();
    await close();
    expect(await readWriteTimeouts(() => undefined, pool)).toBe("unknown");
    expect(await readWriteTimeouts(() => undefined, undefined)).toBe("unknown");
    expect(await readWriteTimeouts(await connect(freshSqlite()), undefined)).toBe("unknown");
  });
});
