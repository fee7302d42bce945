/** Pages with live flags whose server starts again on a database that was restored from a backup. */
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { memoryDatabase, newKey } from "../memory-host.ts";
import { type LiveHost, livePage, openPage, startLive } from "./kit.ts";

/** Copies the tables of flags. The result puts the copy in their place. */
function backUp(db: DatabaseSync): () => void {
  const rows = db.prepare("select name from sqlite_master where type = 'table' and name like 'featureFlag%'");
  const names = rows.all().map(({ name }) => String(name));
  for (const name of names) db.exec(`create table "copy_${name}" as select * from "${name}"`);
  return () => {
    for (const name of names)
      db.exec(`delete from "${name}"; insert into "${name}" select * from "copy_${name}"`);
  };
}

/** A host with a flag whose last change is not in the backup. */
async function start() {
  const db = memoryDatabase();
  const host = await startLive({ database: db });
  const create = (on: LiveHost, defaultValue: string) =>
    on.auth.api.createFeatureFlag({
      body: { key: newKey("restored"), name: "N", type: "string", enabled: true, defaultValue },
    });
  const flag = await create(host, "in the backup");
  const restore = backUp(db);
  await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "lost" } });
  const lost = await create(host, "lost");
  return {
    host,
    flag,
    lost,
    person: await host.person("ann"),
    /** Restores the backup, starts another process, makes changes in it, and gives it to the pages. */
    async restart(changes = 0): Promise<LiveHost> {
      restore();
      const next = await startLive({ database: db, migrate: false });
      for (let made = 0; made < changes; made++) await create(next, "new");
      Object.assign(host, { liveUrl: next.liveUrl, origin: next.origin });
      return next;
    },
  };
}

describe("guide/flags-live: Reconnection: after a backup was restored", () => {
  // With 5 changes, the new history is longer than the one that the page knows.
  test.each([0, 2, 5])("and %i changes were made, a page gets all values", async (changes) => {
    const { host, flag, lost, person, restart } = await start();
    const page = await livePage(host, person);
    await page.sees(flag.key, "lost");
    page.block();
    const next = await restart(changes);
    page.unblock();
    await page.sees(flag.key, "in the backup");
    expect(await page.flags.getValue(lost.key, "none")).toBe("none");
    await page.isLive();
    await next.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "after it" } });
    await page.sees(flag.key, "after it");
  });

  test("a page that had no connection before gets all values", async () => {
    const { host, flag, lost, person, restart } = await start();
    const page = openPage(host, person);
    expect(await page.flags.bootstrap()).toMatchObject({ [flag.key]: "lost" });
    const next = await restart();
    await page.wire.connect();
    await page.sees(flag.key, "in the backup");
    expect(await page.flags.getValue(lost.key, "none")).toBe("none");
    await next.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "after it" } });
    await page.sees(flag.key, "after it");
    await page.close();
  });
});
