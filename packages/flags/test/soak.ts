/** Two processes on one database under a steady load of evaluations and changes. Checks what every response shows. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createPostgresDatabase, type Program, spawnProgram } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { featureFlagsPostgresMigration } from "../src/store/events/postgres/tables.ts";
import { startHost } from "./host.ts";

export interface FlagSoak {
  readonly minutes: number;
  readonly evaluationsPerSecond: number;
  readonly writesPerSecond: number;
  /** A busy machine gets more time, until there were as many. */
  readonly atLeast?: { readonly evaluations: number; readonly writes: number };
  /** Share of the time after which memory is compared. */
  readonly warmUp: number;
}

export interface FlagSoakResult {
  readonly evaluations: number;
  readonly writes: number;
  /** Violations of what every response promises. */
  readonly problems: readonly string[];
  /** From the acknowledgement of a change to the first response of the other process with it. */
  readonly slowestMs: number;
  readonly staleResponses: number;
  /** Per process, in bytes an hour. */
  readonly heapSlopes: readonly number[];
  readonly heapsAtEnd: readonly number[];
}

const APP = fileURLToPath(new URL("fixtures/soak-server.ts", import.meta.url));
const PROCESSES = 2;
/** A sample stops the server for a collection, so a short run has few. */
const SAMPLE_EVERY_MS = { least: 3_000, most: 15_000 };
const TICK_MS = 20;
/** A change is seen everywhere within this time, or the response says that it may be stale. */
const FRESH_MS = 1_000;
const KEYS = ["first", "second", "third"];

interface Generation {
  readonly value: number;
  readonly acknowledgedAt: number;
}

interface Shown {
  readonly value: { readonly a: number; readonly b: number };
  readonly metadata: { readonly revision: number; readonly stale?: boolean };
}

export async function runFlagSoak(soak: FlagSoak): Promise<FlagSoakResult> {
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 2 });
  const host = await startHost({ database: pool });
  await pool.query(featureFlagsPostgresMigration);
  const { id: userId } = await host.person("admin", "admin");
  const { headers } = await host.key({ userId }, ["read", "create", "update"]);
  const ids: string[] = [];
  for (const key of KEYS) {
    const made = await host.createFlag(
      { key, name: key, type: "json", enabled: true, defaultValue: { a: 0, b: 0 } },
      { id: userId, email: "", headers },
    );
    ids.push(made.json.id);
  }
  const programs = await Promise.all(Array.from({ length: PROCESSES }, () => start(url)));
  try {
    return await run(soak, programs, ids, headers);
  } finally {
    await Promise.all(programs.map(({ program }) => program.kill()));
    await host.close();
    await pool.end();
    await drop();
  }
}

interface Running {
  readonly program: Program;
  readonly origin: string;
  memory(): Promise<number>;
}

async function start(url: string): Promise<Running> {
  const program = await spawnProgram({
    command: process.execPath,
    args: ["--expose-gc", "--conditions=@halyard/source", APP, url],
    env: { NODE_OPTIONS: undefined },
  });
  const { memoryPort } = JSON.parse(program.output().trim().split("\n").at(-1) ?? "{}");
  return {
    program,
    origin: `http://127.0.0.1:${program.port}/api/auth/feature-flags`,
    memory: async () =>
      ((await (await fetch(`http://127.0.0.1:${memoryPort}`)).json()) as { heapBytes: number }).heapBytes,
  };
}

async function run(
  soak: FlagSoak,
  programs: readonly Running[],
  ids: readonly string[],
  headers: Record<string, string>,
): Promise<FlagSoakResult> {
  const problems: string[] = [];
  const samples = programs.map((): [number, number][] => []);
  const seen = programs.map(() => 0);
  /** By key, in the order of their acknowledgement. */
  const generations = new Map(KEYS.map((key) => [key, [] as Generation[]]));
  const endAt = performance.now() + soak.minutes * 60_000;
  const startedAt = performance.now();
  let [evaluations, writes, stale, slowestMs] = [0, 0, 0, 0];
  const { atLeast = { evaluations: 0, writes: 0 } } = soak;
  const isOver = () =>
    problems.length > 20 ||
    (performance.now() >= endAt && evaluations >= atLeast.evaluations && writes >= atLeast.writes);

  async function read(at: number): Promise<void> {
    const sentAt = performance.now();
    const response = await fetch(`${programs[at]?.origin}/evaluate-batch`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ flagKeys: KEYS, context: { userId: `u${evaluations % 1_000}` } }),
    });
    evaluations += 1;
    if (response.status !== 200) return void problems.push(`process ${at} answered ${response.status}`);
    const { flags } = (await response.json()) as { flags: Record<string, Shown> };
    const revisions = new Set(Object.values(flags).map(({ metadata }) => metadata.revision));
    if (revisions.size !== 1) problems.push(`process ${at} mixed the revisions ${[...revisions].join()}`);
    const [revision = 0] = revisions;
    const isStale = Object.values(flags).some(({ metadata }) => metadata.stale === true);
    if (isStale) stale += 1;
    for (const [key, { value }] of Object.entries(flags)) {
      if (value.a !== value.b) problems.push(`process ${at} showed half of a change of ${key}`);
      const due = generations.get(key)?.findLast(({ acknowledgedAt }) => acknowledgedAt <= sentAt - FRESH_MS);
      if (due !== undefined && value.a < due.value && !isStale)
        problems.push(`process ${at} showed ${value.a} of ${key}, older than ${due.value}, and not as stale`);
    }
    // Responses of one process can overtake each other on their way, so only a request sent later must not see less.
    const before = seenBefore[at]?.findLast(({ answeredAt }) => answeredAt <= sentAt)?.revision ?? 0;
    if (revision < before) problems.push(`process ${at} went back from revision ${before} to ${revision}`);
    if (revision > (seen[at] ?? 0)) {
      seen[at] = revision;
      seenBefore[at]?.push({ revision, answeredAt: performance.now() });
      if ((seenBefore[at]?.length ?? 0) > 1_000) seenBefore[at]?.splice(0, 500);
      for (const [key, { value }] of Object.entries(flags)) {
        const shown = generations.get(key)?.find((generation) => generation.value === value.a);
        if (shown !== undefined) slowestMs = Math.max(slowestMs, sentAt - shown.acknowledgedAt);
      }
    }
  }
  const seenBefore = programs.map((): { revision: number; answeredAt: number }[] => []);

  async function write(turn: number): Promise<void> {
    const which = turn % KEYS.length;
    const value = turn + 1;
    const response = await fetch(`${programs[turn % PROCESSES]?.origin}/admin/flags/${ids[which]}`, {
      method: "PATCH",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ defaultValue: { a: value, b: value } }),
    });
    writes += 1;
    if (response.status !== 200) return void problems.push(`a change was answered ${response.status}`);
    await response.arrayBuffer();
    const list = generations.get(KEYS[which] ?? "");
    list?.push({ value, acknowledgedAt: performance.now() });
    if ((list?.length ?? 0) > 200) list?.splice(0, 100);
  }

  async function paced(perSecond: number, work: (turn: number) => Promise<void>, waits: boolean) {
    const pending = new Set<Promise<void>>();
    for (let turn = 0; !isOver(); ) {
      const due = ((performance.now() - startedAt) / 1_000) * perSecond;
      for (; turn < due && pending.size < 200; turn++) {
        const one = work(turn).catch((error) => void problems.push(String(error)));
        if (waits) await one;
        pending.add(one);
        void one.finally(() => pending.delete(one));
      }
      await sleep(TICK_MS);
    }
    await Promise.all(pending);
  }

  async function sample(): Promise<void> {
    const { least, most } = SAMPLE_EVERY_MS;
    const everyMs = Math.max(least, Math.min(most, (soak.minutes * 60_000) / 10));
    while (!isOver()) {
      for (const [at, { memory }] of programs.entries())
        samples[at]?.push([performance.now(), await memory()]);
      await sleep(everyMs);
    }
  }

  await Promise.all([
    paced(soak.evaluationsPerSecond, (turn) => read(turn % PROCESSES), false),
    paced(soak.writesPerSecond, write, true),
    sample(),
  ]);
  return {
    evaluations,
    writes,
    problems,
    slowestMs,
    staleResponses: stale,
    heapSlopes: samples.map((list) => slopeOf(list.slice(Math.floor(list.length * soak.warmUp)))),
    heapsAtEnd: samples.map((list) => list.at(-1)?.[1] ?? 0),
  };
}

/** The slope of the line with the least squares, in bytes an hour. */
function slopeOf(samples: readonly [number, number][]): number {
  const mean = (at: 0 | 1) => samples.reduce((sum, sample) => sum + sample[at], 0) / samples.length;
  const [meanMs, meanBytes] = [mean(0), mean(1)];
  let [above, below] = [0, 0];
  for (const [ms, bytes] of samples) {
    above += (ms - meanMs) * (bytes - meanBytes);
    below += (ms - meanMs) ** 2;
  }
  return below === 0 ? 0 : (above / below) * 3_600_000;
}
