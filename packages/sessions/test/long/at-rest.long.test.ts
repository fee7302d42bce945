/** What followed sessions cost while nothing happens: a process, beside what the principal cache takes, and PostgreSQL. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { createPostgresDatabase, sized } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { openPool } from "@halyard/services/postgres-pool";
import { getMigrations } from "better-auth/db/migration";
import type { Pool } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { fleetOptions } from "../fleet-options.ts";

const SESSIONS = sized(10_000, 100);
const SECONDS = sized(60, 5);
/** More than a session takes in the principal cache, which remembers callers without following them. */
const MAX_MORE_BYTES = 1024;
const MAX_CORES = 0.01;

test("10,000 followed sessions at rest take at most 1 KB more than cached ones, and 1 % of a core", async () => {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const program = new URL("../fixtures/at-rest.ts", import.meta.url).pathname;
  const measure = async (what: "cache" | "follow"): Promise<{ bytes: number; cores: number }> => {
    const options = ["--expose-gc", "--conditions=@halyard/source"];
    const input = [what, url, String(SESSIONS), String(SECONDS)];
    const { stdout } = await promisify(execFile)(process.execPath, [...options, program, ...input]);
    return JSON.parse(stdout);
  };
  const { bytes: cacheBytes } = await measure("cache");
  const { bytes, cores } = await measure("follow");
  const percent = (cores * 100).toFixed(2);
  console.log(
    `${Math.round(bytes)} bytes a session, ${Math.round(cacheBytes)} in the principal cache, ${percent} % of a core.`,
  );
  // A small run measures the process itself rather than its sessions.
  if (SESSIONS >= 10_000) {
    expect(bytes - cacheBytes).toBeLessThanOrEqual(MAX_MORE_BYTES);
    expect(cores).toBeLessThanOrEqual(MAX_CORES);
  }
  recordEvidence("sessions-at-rest", {
    what: "A process follows sessions of a Better Auth instance on PostgreSQL, and then does nothing. Every 4 s it compares all of them with the session store.",
    size: `${SESSIONS} sessions, CPU time of ${SECONDS} s.`,
    checked:
      "Heap memory after a garbage collection, before and after the sessions were followed: at most 1,024 bytes more for each than the same sessions took in the principal cache of another process. CPU time of the process: at most 1 % of a core.",
    suite: "packages/sessions/test/long/at-rest.long.test.ts",
    figures: {
      "at rest": {
        "bytes a session": Math.round(bytes),
        "bytes in the principal cache": Math.round(cacheBytes),
        "% of a core": percent,
      },
    },
  });
});

const FLEET_SESSIONS = sized(100_000, 300);
const FLEET_PROCESSES = sized(6, 2);
const FLEET_SECONDS = sized(120, 5);
/** Ticks of the kernel's clock in `/proc`. */
const TICKS_PER_SECOND = 100;
const PROGRAM = new URL("../fixtures/fleet.ts", import.meta.url).pathname;

/** Sessions of as many users, some of them members of the organization that is active. */
async function createFleet(hasOrganizations: boolean): Promise<{ url: string; pool: Pool }> {
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 1 });
  onTestFinished(async () => {
    await pool.end();
    await drop();
  });
  await (await getMigrations(fleetOptions(pool))).runMigrations();
  const day = "now() - interval '1 day'";
  await pool.query(
    `insert into "user" ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
     select 'user-' || i, 'User ' || i, 'user-' || i || '@example.com', true, ${day}, ${day} from generate_series(1, $1::int) i`,
    [FLEET_SESSIONS],
  );
  await pool.query(
    `insert into "session" ("id", "token", "userId", "expiresAt", "activeOrganizationId", "createdAt", "updatedAt")
     select 'session-' || i, 'token-' || lpad(i::text, 26, '0'), 'user-' || i, now() + interval '7 days', $2, ${day}, ${day} from generate_series(1, $1::int) i`,
    [FLEET_SESSIONS, hasOrganizations ? "org" : null],
  );
  if (hasOrganizations) {
    await pool.query(
      `insert into "organization" ("id", "name", "slug", "createdAt") values ('org', 'Org', 'org', ${day})`,
    );
    await pool.query(
      `insert into "member" ("id", "userId", "organizationId", "role", "createdAt")
       select 'member-' || i, 'user-' || i, 'org', 'member', ${day} from generate_series(1, $1::int) i`,
      [FLEET_SESSIONS],
    );
  }
  await pool.query("vacuum analyze");
  return { url, pool };
}

/** CPU time of the database's backends, by process id, in seconds. */
async function backendTimes(pool: Pool): Promise<Map<number, number>> {
  const { rows } = await pool.query("select pid from pg_stat_activity where datname = current_database()");
  return new Map(
    rows.map(({ pid }): [number, number] => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return [Number(pid), (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND];
    }),
  );
}

async function start(url: string, first: number, last: number): Promise<ChildProcess> {
  const input = ["--conditions=@halyard/source", PROGRAM, url, String(first), String(last)];
  const child = spawn(process.execPath, input, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const [line] = await once(child.stdout, "data");
  expect(String(line)).toContain("at rest");
  return child;
}

const fleetFigures: Record<string, Record<string, string>> = {};

test.each([
  ["without organizations", false, 0.1],
  ["with organizations", true, 0.15],
])(
  "100,000 followed sessions of 6 processes at rest take little of a core of PostgreSQL, %s",
  async (name, hasOrganizations, maxCores) => {
    const { url, pool } = await createFleet(hasOrganizations);
    const share = Math.ceil(FLEET_SESSIONS / FLEET_PROCESSES);
    await Promise.all(
      Array.from({ length: FLEET_PROCESSES }, (_, at) =>
        start(url, at * share + 1, Math.min((at + 1) * share, FLEET_SESSIONS)),
      ),
    );
    const before = await backendTimes(pool);
    await setTimeout(FLEET_SECONDS * 1000);
    let seconds = 0;
    for (const [pid, time] of await backendTimes(pool)) seconds += time - (before.get(pid) ?? 0);
    const cores = seconds / FLEET_SECONDS;
    console.log(`${FLEET_SESSIONS} sessions ${name}: ${cores.toFixed(3)} cores of PostgreSQL at rest.`);
    if (FLEET_SESSIONS >= 100_000) expect(cores).toBeLessThanOrEqual(maxCores);
    fleetFigures[name] = { "cores of PostgreSQL": cores.toFixed(3), "at most": maxCores.toFixed(3) };
  },
);

afterAll(() => {
  if (Object.keys(fleetFigures).length < 2) return;
  recordEvidence("database-at-rest", {
    what: "Several processes of an operating system follow sessions of a Better Auth instance on PostgreSQL, with a bus, and then do nothing. In the background each compares at most 500 sessions a second.",
    size: `${FLEET_SESSIONS} sessions, ${FLEET_PROCESSES} processes, ${FLEET_SECONDS} s.`,
    checked: "CPU time of all backends of the database, as /proc shows it before and after.",
    suite: "packages/sessions/test/long/at-rest.long.test.ts",
    figures: fleetFigures,
  });
});
