import { expect, onTestFinished, test } from "vitest";
import { createTally } from "../src/store/events/tally.ts";
import type { SnapshotFlag } from "../src/store/flag-store.ts";
import { openAdapterEvents } from "./contract/event-host.ts";
import { describeEventLog } from "./contract/events.ts";
import { freshSqlite } from "./databases.ts";

describeEventLog("on SQLite", () => openAdapterEvents({ open: freshSqlite }), { nodesThatWriteAtOnce: 1 });

test("other work runs while the counts of many flags are written on SQLite", async () => {
  const host = await openAdapterEvents({ open: freshSqlite });
  onTestFinished(() => host.close());
  const log = await host.open();
  const tally = createTally({ log, warn: () => undefined, lost: () => undefined });
  onTestFinished(() => tally.close());
  const count = async (flags: number) => {
    for (let at = 0; at < flags; at++) {
      const flag = { flag: { id: `f${at}` } } as unknown as SnapshotFlag;
      tally.count("t", flag, "default");
    }
    await tally.flush();
  };
  // The first write proves that the database rolls back.
  await count(1);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  await count(200);
  clearInterval(timer);
  expect(turns).toBeGreaterThanOrEqual(5);
});
