/** Sends events over HTTP to several processes that are killed at the same time, and counts the stored events. */

import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Program, spawnProgram } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import type { Pool } from "pg";
import { createPostgresEventLog } from "../src/store/events/postgres/log.ts";
import { featureFlagsPostgresMigration } from "../src/store/events/postgres/tables.ts";
import { createRandom, type Random } from "./engine/random.ts";
import { startHost } from "./host.ts";

export interface StormOptions {
  /** An empty database. */
  readonly url: string;
  /** Number of events to send, including repeated ones. */
  readonly events: number;
  readonly seed: number;
  readonly appKills: number;
  readonly connectionKills: number;
  /** Events that another process stores in transactions that stay open for longer than the writes around them. */
  readonly lateCommits?: number;
  /** Kills the database server and starts it again. */
  readonly killServer?: { readonly times: number; readonly kill: () => Promise<void> };
}

/** The requests that were sent, and the contents of the database at the end. */
export interface StormResult {
  readonly sent: number;
  readonly distinct: number;
  readonly abandoned: number;
  readonly withoutKey: { readonly sent: number; readonly acknowledged: number; readonly stored: number };
  readonly requests: number;
  readonly requestsThatFailed: number;
  readonly races: number;
  readonly appKills: number;
  readonly connectionKills: number;
  readonly serverKills: number;
  /** Counts of acknowledged events. */
  readonly missing: number;
  readonly storedTwice: number;
  /** Events that are stored without an acknowledgement. */
  readonly abandonedStored: number;
  /** Events that were committed late. They are not in `rowsStored`. */
  readonly lateCommits: number;
  readonly rowsStored: number;
  /** Roll-ups that differ from the rows they summarize. */
  readonly wrongRollups: number;
  readonly eventsPerSecond: number;
}

const APPS = 3;
const CLIENTS = 24;
const FLAGS = 20;
const BATCH = 100;
/** Number of senders of the same request at the same time. */
const RACERS = 64;
/** Share of events that are repeated. */
const AGAIN = 0.3;
const SERVER = fileURLToPath(new URL("fixtures/event-server.ts", import.meta.url));

/** The events of one request, by number. */
type Load =
  | { readonly kind: "batch"; readonly numbers: readonly number[]; readonly times: number }
  | { readonly kind: "single"; readonly numbers: readonly [number]; readonly times: number }
  | { readonly kind: "abandoned"; readonly numbers: readonly number[]; readonly times: 1 }
  | { readonly kind: "unkeyed"; readonly numbers: readonly number[]; readonly times: 1 };

/** Derives an event from its number, so that a repeated event is the same. */
function eventOf(number: number): { flagKey: string; event: string; value: number; idempotencyKey: string } {
  const flagKey = `flag-${number % FLAGS}`;
  const event = number % 3 === 0 ? "view" : "click";
  return { flagKey, event, value: (number % 100) / 4, idempotencyKey: `key-${number}` };
}

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const random = createRandom(options.seed);
  const pool = openPool({ connectionString: options.url, max: 4 });
  const first = await startHost({ database: pool });
  for (let at = 0; at < FLAGS; at++) {
    await first.auth.api.createFeatureFlag({ body: { key: `flag-${at}`, name: "N", type: "boolean" } });
  }
  await first.close();
  await pool.query(featureFlagsPostgresMigration);

  const loads = planLoads(options.events, random);
  const apps = await Promise.all(Array.from({ length: APPS }, () => startApp(options.url)));
  const agent = new Agent({ keepAlive: true });
  const acknowledged = new Set<number>();
  const unkeyedAcknowledged = new Set<number>();
  const tally = { requests: 0, failed: 0, sent: 0, appKills: 0, connectionKills: 0, serverKills: 0 };
  const total = loads.reduce((sum, { numbers, times }) => sum + numbers.length * times, 0);

  async function send(load: Load): Promise<void> {
    const [path, body, headers] = requestOf(load);
    for (;;) {
      tally.requests += 1;
      const answer = await post(agent, random.pick(apps).port, path, body, headers);
      if (answer !== undefined && isAccepted(load, answer)) {
        const list = load.kind === "unkeyed" ? unkeyedAcknowledged : acknowledged;
        for (const number of load.numbers) list.add(number);
        break;
      }
      tally.failed += 1;
      if (load.kind === "abandoned" || load.kind === "unkeyed") break;
      await sleep(20);
    }
    tally.sent += load.numbers.length;
  }

  async function destroy(): Promise<void> {
    const steps = planDestruction(options, random);
    for (const [index, step] of steps.entries()) {
      const due = ((index + 1) / (steps.length + 1)) * total;
      while (tally.sent < due) await sleep(5);
      // A kill after the last response would prove nothing.
      if (tally.sent >= total) return;
      if (step === "app") {
        const victim = random.below(APPS);
        await apps[victim]?.kill();
        apps[victim] = await startApp(options.url);
        tally.appKills += 1;
      } else if (step === "connection") {
        tally.connectionKills += await killConnections(pool);
      } else {
        await options.killServer?.kill();
        tally.serverKills += 1;
      }
    }
  }

  const startedAt = performance.now();
  const destruction = destroy();
  const late = commitLate(pool, options.lateCommits ?? 0);
  let next = 0;
  const clients = Array.from({ length: CLIENTS }, async () => {
    for (let load = loads[next++]; load !== undefined; load = loads[next++]) {
      const same = load;
      await Promise.all(Array.from({ length: same.times }, () => send(same)));
    }
  });
  await Promise.all(clients);
  const seconds = (performance.now() - startedAt) / 1000;
  await destruction;
  const lateCommits = await late;
  for (const app of apps) await app.stop();
  agent.destroy();

  const distinct = new Set(loads.flatMap(({ kind, numbers }) => (kind === "unkeyed" ? [] : numbers)));
  const unkeyed = loads.flatMap(({ kind, numbers }) => (kind === "unkeyed" ? numbers : []));
  await countWhatWaits(pool);
  const stored = await readStored(pool);
  await pool.end();
  const abandoned = [...distinct].filter((number) => !acknowledged.has(number));
  return {
    sent: total,
    distinct: distinct.size,
    abandoned: abandoned.length,
    withoutKey: {
      sent: unkeyed.length,
      acknowledged: unkeyedAcknowledged.size,
      stored: unkeyed.reduce((sum, number) => sum + (stored.unkeyed.get(number) ?? 0), 0),
    },
    requests: tally.requests,
    requestsThatFailed: tally.failed,
    races: loads.filter(({ times }) => times === RACERS).length,
    appKills: tally.appKills,
    connectionKills: tally.connectionKills,
    serverKills: tally.serverKills,
    missing:
      [...acknowledged].filter((number) => !stored.keyed.has(number)).length +
      [...unkeyedAcknowledged].filter((number) => !stored.unkeyed.has(number)).length,
    storedTwice: [...stored.keyed.values(), ...stored.unkeyed.values()].filter((count) => count > 1).length,
    abandonedStored: abandoned.filter((number) => stored.keyed.has(number)).length,
    lateCommits,
    rowsStored: stored.rows - lateCommits,
    wrongRollups: stored.wrongRollups,
    eventsPerSecond: Math.round(total / seconds),
  };
}

function startApp(url: string): Promise<Program> {
  return spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", SERVER, url],
    env: { NODE_OPTIONS: undefined },
    readyTimeoutMs: 60_000,
  });
}

/** Plans new and repeated events, in batches and single requests. Some are sent 64 times at the same time. */
function planLoads(events: number, random: Random): Load[] {
  const loads: Load[] = [];
  let sentCount = 0;
  let left = events;
  let again = events * AGAIN;
  const fresh = (count: number) => Array.from({ length: count }, () => sentCount++);
  function add(load: Load): void {
    loads.push(load);
    left -= load.numbers.length * load.times;
    if (load.times > 1) again -= load.numbers.length * (load.times - 1);
  }
  while (left > 0) {
    const dice = random.next();
    if (dice < 0.01 && again > RACERS * 10) add({ kind: "batch", numbers: fresh(10), times: RACERS });
    else if (dice < 0.03 && again > RACERS) {
      add({ kind: "single", numbers: [sentCount++], times: RACERS });
    } else if (dice < 0.04) add({ kind: "abandoned", numbers: fresh(BATCH), times: 1 });
    else if (dice < 0.05) add({ kind: "unkeyed", numbers: fresh(BATCH), times: 1 });
    else if (dice < 0.1) add({ kind: "single", numbers: [sentCount++], times: 1 });
    else {
      // The share of the remaining events that still has to be repeated.
      const share = Math.min(0.9, Math.max(0, again / left));
      const numbers = Array.from({ length: BATCH }, () => {
        if (sentCount === 0 || !random.chance(share)) return sentCount++;
        again -= 1;
        return random.below(sentCount);
      });
      add({ kind: "batch", numbers, times: 1 });
    }
  }
  return loads;
}

type Step = "app" | "connection" | "server";

function planDestruction({ appKills, connectionKills, killServer }: StormOptions, random: Random): Step[] {
  const steps: Step[] = [
    ...Array<Step>(appKills).fill("app"),
    ...Array<Step>(connectionKills).fill("connection"),
    ...Array<Step>(killServer?.times ?? 0).fill("server"),
  ];
  return steps
    .map((step) => ({ step, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ step }) => step);
}

function requestOf({ kind, numbers }: Load): [path: string, body: string, headers: Record<string, string>] {
  if (kind === "single") {
    const { idempotencyKey, ...event } = eventOf(numbers[0] ?? 0);
    return ["/events", JSON.stringify(event), { "idempotency-key": idempotencyKey }];
  }
  const events = numbers.map((number) => {
    const event = eventOf(number);
    if (kind !== "unkeyed") return event;
    const { idempotencyKey: _, ...rest } = event;
    return { ...rest, event: "unkeyed", properties: { number } };
  });
  return ["/events/batch", JSON.stringify({ events }), {}];
}

/** A batch response must report every event as recorded. */
function isAccepted({ kind, numbers }: Load, answer: Record<string, unknown>): boolean {
  const { success, failed } = answer;
  const isWhole = kind === "single" ? success === true : success === numbers.length && failed === 0;
  if (!isWhole) throw new Error(`The response to ${kind} is wrong: ${JSON.stringify(answer)}`);
  return true;
}

/** The body of a 200; undefined for any failure. */
function post(
  agent: Agent,
  port: number,
  path: string,
  body: string,
  headers: Record<string, string>,
): Promise<Record<string, unknown> | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        port,
        host: "127.0.0.1",
        method: "POST",
        path: `/api/auth/feature-flags${path}`,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          ...headers,
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("error", () => resolve(undefined));
        response.on("end", () => {
          const { statusCode = 0 } = response;
          if (statusCode === 200) resolve(JSON.parse(text));
          else if (statusCode >= 500 || statusCode === 429) resolve(undefined);
          else reject(new Error(`Refused with ${statusCode}: ${text}`));
        });
      },
    );
    sent.on("error", () => resolve(undefined));
    sent.end(body);
  });
}

async function killConnections(pool: Pool): Promise<number> {
  try {
    const { rowCount } = await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and query like '%halyard_flag%' limit 4`,
    );
    return rowCount ?? 0;
  } catch {
    return 0;
  }
}

const LATE = `with stored as (
  insert into halyard_flag_event (id, tenant, event, at, received_at, sample_rate, environment)
  values (gen_random_uuid(), '', 'late', now(), now(), 1, '') returning id
) insert into halyard_flag_outbox (sink, event_ids, enqueued_at)
select '$statistics', array[id], now() from stored`;

/** Returns the number of transactions that were committed: a kill ends those that are open. */
async function commitLate(pool: Pool, times: number): Promise<number> {
  let committed = 0;
  for (let time = 0; time < times; time++) {
    try {
      const client = await pool.connect();
      let fault: Error | undefined;
      client.on("error", () => undefined);
      try {
        await client.query("begin");
        await client.query(LATE);
        await sleep(200);
        await client.query("commit");
        committed += 1;
      } catch (error) {
        fault = error instanceof Error ? error : new Error("The transaction failed.");
      } finally {
        client.release(fault);
      }
    } catch {
      // The server is down.
      await sleep(50);
    }
  }
  return committed;
}

/** What the processes have not counted is counted by the next reader. */
async function countWhatWaits(pool: Pool): Promise<void> {
  const log = createPostgresEventLog({ pool, warn: () => undefined });
  for (;;) {
    await log.usageFigures("all", { startMs: 0, endMs: Date.now() });
    const { rows } = await pool.query("select from halyard_flag_outbox limit 1");
    if (rows.length === 0) break;
  }
  await log.close();
}

interface Stored {
  readonly rows: number;
  /** How often each event is stored. */
  readonly keyed: ReadonlyMap<number, number>;
  readonly unkeyed: ReadonlyMap<number, number>;
  readonly wrongRollups: number;
}

async function readStored(pool: Pool): Promise<Stored> {
  const counts = async (column: string, where: string) => {
    const { rows } = await pool.query<{ number: number; count: number }>(
      `select ${column} as number, count(*)::int as count from halyard_flag_event where ${where} group by 1`,
    );
    return new Map(rows.map(({ number, count }) => [number, count]));
  };
  const { rows } = await pool.query<{ rows: number; wrong: number }>(
    `select (select count(*)::int from halyard_flag_event) as rows, (
       select count(*)::int from (
         select tenant, coalesce(flag_id, '') as flag_id, date_trunc('hour', at, 'UTC') as hour, event, count(*)::float8 as count
         from halyard_flag_event group by 1, 2, 3, 4
       ) as counted full join halyard_flag_event_hour as rolled_up using (tenant, flag_id, hour, event)
       where counted.count is distinct from rolled_up.count
     ) as wrong`,
  );
  return {
    rows: rows[0]?.rows ?? -1,
    keyed: await counts("substring(idempotency_key from 5)::int", "idempotency_key is not null"),
    unkeyed: await counts("(properties ->> 'number')::int", "event = 'unkeyed'"),
    wrongRollups: rows[0]?.wrong ?? -1,
  };
}
