/** Events by hand without HTTP: groups of 1,000, with the same concurrency as ours, for a number of seconds. */
import { randomUUID } from "node:crypto";
import { openPool } from "@halyard/services/postgres-pool";
import { keys } from "./flags/flags.ts";
import { type BareEvent, GROUP_ROWS, insertGroup, LANES } from "./flags/grouped-insert.ts";
import { serveRuns } from "./shared/control.ts";

const [databaseUrl = ""] = process.argv.slice(2);
const pool = openPool({ connectionString: databaseUrl, max: LANES });

function group(): BareEvent[] {
  const at = new Date().toISOString();
  return Array.from({ length: GROUP_ROWS }, (_, index) => ({
    id: randomUUID(),
    flagKey: keys[index % keys.length] ?? "",
    event: "purchase",
    value: index % 100,
    properties: { page: "/checkout", items: 3 },
    userId: `user-${index}`,
    at,
  }));
}

serveRuns(async (seconds) => {
  const end = performance.now() + seconds * 1000;
  let events = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      await insertGroup(pool, group());
      events += GROUP_ROWS;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { events };
});
