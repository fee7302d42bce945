import { expect, onTestFinished, test } from "vitest";
import { openAdapterEvents } from "./contract/event-host.ts";
import { describeEventLog } from "./contract/events.ts";
import { freshSqlite } from "./databases.ts";

describeEventLog("on SQLite", () => openAdapterEvents({ open: freshSqlite }), { nodesThatWriteAtOnce: 1 });

test("other work runs while the counts of many flags are written on SQLite", async () => {
  const host = await openAdapterEvents({ open: freshSqlite });
  onTestFinished(() => host.close());
  const log = await host.open();
  const count = (flags: number) =>
    log.count(
      Array.from({ length: flags }, (_, at) => ({
        tenant: "t",
        flagId: `f${at}`,
        hour: "2030-05-15T12:00:00.000Z",
        reason: "default" as const,
        count: 1,
      })),
    );
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
