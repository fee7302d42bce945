/** Live flags of two processes on one PostgreSQL database, with each bus between them and without polling. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BUSES } from "../buses.ts";
import { freshPostgres } from "../databases.ts";
import { startHost } from "../host.ts";
import { newKey } from "../memory-host.ts";
import { livePage, SOON, startLive } from "./kit.ts";

describe.each(BUSES)("two processes with $name between them", ({ prepare }) => {
  test("push a change to the pages of the other process, without polling", async () => {
    const db = await freshPostgres();
    onTestFinished(db.drop);
    const openBus = await prepare(db);
    const connected = [db.connect(), db.connect()] as const;
    onTestFinished(async () => {
      for (const { close } of connected) await close();
    });
    // Much longer than the test.
    const bounds = { pollMs: 600_000 };
    const host = await startLive({
      database: connected[0].database,
      flags: { bus: await openBus() },
      bounds,
    });
    const other = await startHost({
      database: connected[1].database,
      migrate: false,
      flags: { bus: await openBus() },
      bounds,
    });
    onTestFinished(other.close);
    const flag = await other.auth.api.createFeatureFlag({
      body: { key: newKey("bus"), name: "N", type: "number", enabled: true, defaultValue: 0 },
    });
    const page = await livePage(host, await host.person("listener"));
    await vi.waitFor(async () => expect((await host.auth.api.getFeatureFlagsHealth()).bus).toBe("up"), SOON);
    for (let value = 1; value <= 5; value++) {
      await other.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: value } });
      await page.sees(flag.key, value);
    }
  });
});
