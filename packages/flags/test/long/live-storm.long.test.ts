/** Ten thousand subscribed clients lose their connections at once: all are cut, and then their process is killed. */
import { sized } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";
import { freshPostgres } from "../databases.ts";
import { startHost } from "../host.ts";
import { addSessions, openClients } from "../live/many.ts";
import { createNodes } from "../live/nodes.ts";

const CLIENTS = sized(10_000, 200);
/** The most changes behind that a client gets without the whole set. */
const BEHIND = sized(1_000, 20);
const CUT_MS = 20_000;
const RESTART_MS = 60_000;

const title = `guide/flags-live: Reconnection: ${CLIENTS} clients that lose their connections at once are current within 20 s, within 60 s after a restart, and none gets the whole set`;

test(title, { timeout: 600_000 }, async () => {
  const db = await freshPostgres();
  const { database, close } = db.connect();
  const nodes = await createNodes(db.url, 1);
  const bus = await nodes.openBus();
  const host = await startHost({ database, flags: { multiTenant: true, bus } });
  onTestFinished(async () => {
    await host.close();
    await nodes.close();
    await close();
    await db.drop();
  });
  await nodes.start();
  await addSessions(database, CLIENTS);
  const { api } = host.auth;
  const ids: string[] = [];
  for (let at = 0; at < 100; at++) {
    const flag = { key: `flag-${at}`, name: "N", type: "number" as const, enabled: true, defaultValue: 0 };
    ids.push((await api.createFeatureFlag({ body: { ...flag, organizationId: "" } })).id);
  }
  let revision = ids.length;
  const change = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) {
      revision += 1;
      const id = ids[revision % 10] ?? "";
      await api.updateFeatureFlag({ body: { id, defaultValue: revision } });
    }
  };

  const [url = ""] = nodes.liveUrls;
  const clients = await openClients(url, CLIENTS);
  const behind = () => clients.filter(({ at }) => at[1] !== revision).length;
  /** Resolves to the time until every client has the last revision. */
  async function untilCurrent(withinMs: number): Promise<number> {
    const startedAtMs = performance.now();
    while (behind() > 0 && performance.now() - startedAtMs < 2 * withinMs) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(behind()).toBe(0);
    return performance.now() - startedAtMs;
  }
  await untilCurrent(RESTART_MS);
  for (const client of clients) client.fullSets = 0;

  for (const client of clients) client.cut();
  await change(3);
  const cutMs = await untilCurrent(CUT_MS);

  await nodes.killNode(0, () => change(BEHIND));
  const restartMs = await untilCurrent(RESTART_MS);

  const fullSets = clients.reduce((sum, client) => sum + client.fullSets, 0);
  for (const client of clients) void client.close();
  console.log(
    `Current ${Math.round(cutMs)} ms after the cut, ${Math.round(restartMs)} ms after the restart.`,
  );
  expect(cutMs).toBeLessThanOrEqual(CUT_MS);
  expect(restartMs).toBeLessThanOrEqual(RESTART_MS);
  expect(fullSets).toBe(0);
  recordEvidence("live-flags-storm", {
    what: "All clients of a process with live flags lose their connections at once while flags change. Then the process is killed and started again.",
    size: `${CLIENTS} clients with a session each, 100 flags, ${BEHIND} changes while the process was away.`,
    checked: `Every client has the last revision within ${CUT_MS / 1000} s of the cut and within ${RESTART_MS / 1000} s of the restart. No client gets the whole set.`,
    suite: "packages/flags/test/long/live-storm.long.test.ts",
    figures: {
      PostgreSQL: {
        "s after the cut": (cutMs / 1000).toFixed(1),
        "s after the restart": (restartMs / 1000).toFixed(1),
      },
    },
  });
});
