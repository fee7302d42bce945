/** What subscribed connections cost a process while nothing happens. */
import { readFileSync } from "node:fs";
import { sized } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test, vi } from "vitest";
import { freshPostgres } from "../databases.ts";
import { startHost } from "../host.ts";
import { addSessions, openClients } from "../live/many.ts";
import { createNodes } from "../live/nodes.ts";

const SESSIONS = sized(10_000, 100);
const FLAGS = sized(100, 5);
const SECONDS = sized(60, 5);
const MAX_CORES = 0.01;
const TICKS_PER_SECOND = 100;
/** The first comparison with the session store reads all sessions by value. */
const SETTLE_MS = sized(30_000, 1_000);
/** Longer than a garbage collection, which would otherwise remove the garbage of opening connections at some time of the measurement. */
const COLLECTION_MS = sized(5_000, 500);

/** The CPU time of a process so far, in seconds. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

const title = `${SESSIONS} sessions that are subscribed to live flags take at most 1 % of a core at rest`;

test(title, { timeout: 600_000 }, async () => {
  const db = await freshPostgres();
  const { database, close } = db.connect();
  const nodes = await createNodes(db.url, 1);
  const host = await startHost({ database, flags: { multiTenant: true, bus: await nodes.openBus() } });
  onTestFinished(async () => {
    await host.close();
    await nodes.close();
    await close();
    await db.drop();
  });
  await nodes.start();
  await addSessions(database, SESSIONS);
  for (let at = 0; at < FLAGS; at += 1) {
    const body = { key: `flag-${at}`, name: "N", type: "boolean" as const, organizationId: "" };
    await host.auth.api.createFeatureFlag({ body });
  }
  const [url = ""] = nodes.liveUrls;
  const clients = await openClients(url, SESSIONS);
  await vi.waitFor(() => expect(clients.every(({ at }) => at.length > 0)).toBe(true), { timeout: 60_000 });
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await pause(SETTLE_MS);
  nodes.collectGarbage(0);
  await pause(COLLECTION_MS);
  const pid = nodes.pidOf(0);
  const before = cpuSeconds(pid);
  await pause(SECONDS * 1000);
  const cores = (cpuSeconds(pid) - before) / SECONDS;
  for (const client of clients) void client.close();
  const percent = (cores * 100).toFixed(2);
  console.log(`${percent} % of a core.`);
  // A small run measures the process itself rather than its sessions.
  if (SESSIONS >= 10_000) expect(cores).toBeLessThanOrEqual(MAX_CORES);
  recordEvidence("live-flags-at-rest", {
    what: "Clients with a session each are subscribed to live flags of one process on PostgreSQL, and nothing changes. The process polls for changes of flags every 500 ms, and compares all sessions with the session store every 4 s.",
    size: `${SESSIONS} connections, ${FLAGS} flags, CPU time of ${SECONDS} s.`,
    checked:
      "The CPU time of the process, after a garbage collection that removed what the opening of connections left behind: at most 1 % of a core.",
    suite: "packages/flags/test/long/live-at-rest.long.test.ts",
    figures: { "at rest": { "% of a core": percent } },
  });
});
