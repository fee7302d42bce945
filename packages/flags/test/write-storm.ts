/** Changes flags over HTTP while the database server is stopped and killed, and compares what is left. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type PrivateServer, spawnProgram, startPostgres } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { featureFlagsPostgresMigration } from "../src/store/events/postgres/tables.ts";
import { createRandom } from "./engine/random.ts";
import { type Attempt, compare, type Findings, type FlagApi, liveFlag } from "./flag-lives.ts";
import { startHost } from "./host.ts";

export interface WriteStormOptions {
  /** How often the server is stopped without a checkpoint (`pg_ctl stop -m immediate`). */
  readonly stops: number;
  /** How often the server gets SIGKILL. */
  readonly kills: number;
  readonly writesPerSecond: number;
  /** Time between the recovery from one failure and the next failure. */
  readonly calmMs: number;
  readonly seed: number;
}

export interface WriteStormResult {
  readonly findings: Findings;
  readonly evaluations: number;
  readonly evaluationsFailed: number;
  /** The longest time from the server's first answer after a failure to the next acknowledged change. */
  readonly longestRecoveryMs: number;
}

type Failure = "stop" | "kill";

const APP = fileURLToPath(new URL("fixtures/event-server.ts", import.meta.url));
const WRITERS = 10;
/** The key of the flag that is evaluated all the time. */
const READ = "read-all-the-time";

export async function runWriteStorm(options: WriteStormOptions): Promise<WriteStormResult> {
  const random = createRandom(options.seed);
  const server = await startPostgres();
  const pool = openPool({ connectionString: server.url, max: 4 });
  const host = await startHost({ database: pool });
  await pool.query(featureFlagsPostgresMigration);
  const { id: userId } = await host.person("admin", "admin");
  const { headers } = await host.key({ userId }, ["read", "create", "update", "delete", "override"]);
  const app = await spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", APP, server.url],
    env: { NODE_OPTIONS: undefined },
  });
  const send = sender(`http://127.0.0.1:${app.port}/api/auth/feature-flags`, headers);
  const api = apiOf(send);
  const history = new Map<string, boolean>();
  let acknowledgedAtMs = 0;
  const attempt: Attempt = async (token, change) => {
    await sleep((WRITERS * 1000) / options.writesPerSecond);
    history.set(token, false);
    try {
      const result = await change();
      history.set(token, true);
      acknowledgedAtMs = performance.now();
      return result;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return undefined;
    }
  };
  let isOver = false;
  const evaluated = { all: 0, failed: 0 };

  async function write(writer: number): Promise<void> {
    for (let life = 0; !isOver; life++) await liveFlag(api, attempt, { name: `w${writer}-${life}`, random });
  }

  /** Anonymous, so that the answer needs the snapshot only. */
  async function evaluate(): Promise<void> {
    while (!isOver) {
      evaluated.all += 1;
      const answer = await post(`http://127.0.0.1:${app.port}/api/auth/feature-flags/evaluate`, {
        flagKey: READ,
      });
      if (answer?.["reason"] !== "default") evaluated.failed += 1;
      await sleep(20);
    }
  }

  let longestRecoveryMs = 0;
  async function fail(how: Failure): Promise<void> {
    await sleep(random.next() * 2 * options.calmMs);
    if (how === "kill") await server.kill();
    else process.kill(server.pid, "SIGQUIT");
    await restart(server);
    const upAtMs = performance.now();
    while (acknowledgedAtMs < upAtMs) await sleep(10);
    longestRecoveryMs = Math.max(longestRecoveryMs, acknowledgedAtMs - upAtMs);
  }

  try {
    await attempt(READ, () => api.createFlag(READ));
    const work = [evaluate(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))];
    const failures = [
      ...Array<Failure>(options.stops).fill("stop"),
      ...Array<Failure>(options.kills).fill("kill"),
    ];
    const order = failures.map((how) => ({ how, at: random.next() })).sort((a, b) => a.at - b.at);
    for (const { how } of order) await fail(how);
    isOver = true;
    await Promise.all(work);
    const findings = await compare(host, history);
    return {
      findings,
      evaluations: evaluated.all,
      evaluationsFailed: evaluated.failed,
      longestRecoveryMs: Math.round(longestRecoveryMs),
    };
  } finally {
    isOver = true;
    await app.stop();
    await host.close();
    await pool.end();
    await server.stop();
  }
}

/** An answer that the server may not give, whatever the database does. */
class Refusal extends Error {}

type Send = (method: string, path: string, body?: object) => Promise<{ readonly id: string }>;

function sender(base: string, headers: Record<string, string>): Send {
  return async (method, path, body) => {
    const response = await fetch(`${base}/admin/${path}`, {
      method,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return text === "" ? { id: "" } : JSON.parse(text);
    if (response.status >= 500) throw new Error(text);
    throw new Refusal(`${method} ${path} was answered with ${response.status}: ${text}`);
  };
}

function apiOf(send: Send): FlagApi {
  return {
    createFlag: async (key) =>
      (await send("POST", "flags", { key, name: key, type: "boolean", enabled: true })).id,
    describeFlag: (id, description) => send("PATCH", `flags/${id}`, { description }),
    createRule: (flagId, name) =>
      send("POST", `flags/${flagId}/rules`, {
        name,
        priority: 1,
        conditions: { conditions: [] },
        value: true,
      }),
    createOverride: (flagId, reason) =>
      send("POST", "overrides", { flagId, userId: reason, value: true, reason }),
    deleteFlag: (id) => send("DELETE", `flags/${id}`),
  };
}

async function post(url: string, body: object): Promise<Record<string, unknown> | undefined> {
  try {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

/** PostgreSQL does not start while child processes of the ended server are still running. */
async function restart(server: PrivateServer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await server.restart();
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      await sleep(500);
    }
  }
}
