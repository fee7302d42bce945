/** Measures the cost of an event over HTTP, in the server and in the database, against the same by hand. */
import { openPool } from "@halyard/services/postgres-pool";
import type { Pool } from "pg";
import { z } from "zod";
import { median, pairSamples, planRounds, type Sample } from "../judge.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { nodeServer, type Server, type Target, withServer } from "../server.ts";
import { keys } from "../servers/flags/flags.ts";
import { formatTable, type Table } from "../table.ts";
import { readDatabaseCpu, usedBetween } from "./database-cpu.ts";
import { httpLoad } from "./load.ts";
import { createWorld, type Exchange, exchangeOf, type World, writeExchanges } from "./world.ts";

export interface EventComparison {
  readonly name: string;
  readonly about: string;
  readonly batches: { readonly atLeast: number; readonly batchSize: number; readonly connections: number };
  readonly singles: { readonly atLeast: number; readonly connections: number };
}

/** CPU time of the server and the database together, per event. */
interface EventSample extends Sample {
  readonly serverUs: number;
  readonly p99Us?: number;
}

interface Contestant {
  readonly name: string;
  readonly role: "ours" | "baseline";
  readonly server: Server;
  load(target: Target, run: Run): Promise<Achieved>;
}

interface Run {
  readonly seconds: number;
  /** Whether every session sends one request before. */
  readonly isFirst: boolean;
}

interface Achieved {
  readonly events: number;
  readonly seconds: number;
  readonly serverUs: number;
  readonly p99Us?: number;
}

/** The number of sessions and different requests. A smoke run has no time for more. */
const PEOPLE = 1_000;
const FEW_PEOPLE = 50;

const BATCHES = "Halyard, batches of 100";
const INSERT = "grouped insert by hand, no HTTP";
const SINGLES = "Halyard, single events";
const BARE = "bare node:http, single events";

export function compareEvents(comparison: EventComparison): Measurement {
  const { name, about } = comparison;
  return {
    name,
    about,
    goal: { atLeast: 1, unit: "of the goals" },
    run: async (effort) => describe(comparison, await runAll(comparison, effort)),
  };
}

type Results = ReadonlyMap<string, readonly (EventSample | undefined)[]>;

async function runAll(comparison: EventComparison, effort: Effort): Promise<Results> {
  const world = await createWorld(isSmoke(effort) ? FEW_PEOPLE : PEOPLE);
  const pool = openPool({ connectionString: world.databaseUrl, max: 1 });
  try {
    const contestants = contestantsOf(comparison, world);
    const rounds: Map<string, EventSample>[] = [];
    for (const round of planRounds(contestants, [], effort.rounds)) {
      const samples = new Map<string, EventSample>();
      for (const contestant of round) {
        await pool.query("truncate halyard_flag_event, halyard_flag_event_hour, halyard_flag_outbox");
        samples.set(contestant.name, await measure(contestant, pool, effort));
      }
      rounds.push(samples);
      effort.onRound(rounds.length);
    }
    return new Map(contestants.map(({ name }) => [name, rounds.map((round) => round.get(name))]));
  } finally {
    await pool.end();
    await world.close();
  }
}

function measure({ server, load }: Contestant, pool: Pool, effort: Effort): Promise<EventSample> {
  const seconds = Math.max(1, effort.measuredSeconds);
  return withServer(server, async (target) => {
    await load(target, { seconds: Math.max(1, effort.warmSeconds), isFirst: true });
    const stored = await countEvents(pool);
    const before = await readDatabaseCpu(pool);
    const achieved = await load(target, { seconds, isFirst: false });
    const { events, serverUs, p99Us } = achieved;
    const databaseUs = usedBetween(before, await readDatabaseCpu(pool)) / events;
    const missing = stored + events - (await countEvents(pool));
    // Events in flight at the end are stored and not counted.
    if (missing > 0) throw new Error(`${missing} acknowledged events are missing in the database.`);
    return {
      cpuUsPerOperation: serverUs + databaseUs,
      serverUs,
      operationsPerSecond: events / achieved.seconds,
      ...(p99Us !== undefined && { p99Us }),
    };
  });
}

async function countEvents(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>("select count(*) as count from halyard_flag_event");
  return Number(rows[0]?.count);
}

// --- contestants ---

function contestantsOf({ batches, singles }: EventComparison, world: World): Contestant[] {
  const { databaseUrl } = world;
  const ours = import.meta.resolve("../servers/node-flags.ts");
  const batchFile = writeExchanges("events-batch", batchesOf(world, batches.batchSize));
  const singleFile = writeExchanges("events-single", singlesOf(world));
  const overHttp =
    (requests: string, connections: number, perRequest: number): Contestant["load"] =>
    async (target, { seconds, isFirst }) => {
      const load = { requests, connections, laps: isFirst ? 1 : 0, warmSeconds: 0, measuredSeconds: seconds };
      const { operationsPerSecond, cpuUsPerOperation, p99Us } = await httpLoad(target, load);
      const events = Math.floor(operationsPerSecond * seconds * perRequest);
      return { events, seconds, serverUs: cpuUsPerOperation / perRequest, p99Us };
    };
  return [
    {
      name: BATCHES,
      role: "ours",
      server: nodeServer(BATCHES, ours, databaseUrl, "raw"),
      load: overHttp(batchFile, batches.connections, batches.batchSize),
    },
    {
      name: INSERT,
      role: "baseline",
      server: nodeServer(INSERT, import.meta.resolve("../servers/events-bare.ts"), databaseUrl),
      load: runInside,
    },
    {
      name: SINGLES,
      role: "ours",
      server: nodeServer(SINGLES, ours, databaseUrl, "raw"),
      load: overHttp(singleFile, singles.connections, 1),
    },
    {
      name: BARE,
      role: "baseline",
      server: nodeServer(BARE, import.meta.resolve("../servers/node-events-bare.ts"), databaseUrl),
      load: overHttp(singleFile, singles.connections, 1),
    },
  ];
}

const inside = z.object({ events: z.number().positive(), cpuUs: z.number(), seconds: z.number() });

async function runInside({ port }: Target, run: Run): Promise<Achieved> {
  const response = await fetch(`http://127.0.0.1:${port}/?seconds=${run.seconds}`);
  const { events, cpuUs, seconds } = inside.parse(await response.json());
  return { events, seconds, serverUs: cpuUs / events };
}

function eventOf(index: number): object {
  const flagKey = keys[index % keys.length];
  return { flagKey, event: "purchase", value: index % 100, properties: { page: "/checkout", items: 3 } };
}

function singlesOf({ people }: World): Exchange[] {
  return people.map((person, index) =>
    exchangeOf(person, "/feature-flags/events", eventOf(index), '"success":true'),
  );
}

function batchesOf({ people }: World, size: number): Exchange[] {
  return people.map((person, index) => {
    const events = Array.from({ length: size }, (_, at) => eventOf(index * size + at));
    return exchangeOf(person, "/feature-flags/events/batch", { events }, `"success":${size},"failed":0`);
  });
}

// --- report ---

function describe({ batches, singles }: EventComparison, results: Results): Finding {
  const aims = [
    { ours: BATCHES, other: INSERT, atLeast: batches.atLeast },
    { ours: SINGLES, other: BARE, atLeast: singles.atLeast },
  ].map((aim) => ({ ...aim, ...pairSamples(results.get(aim.ours) ?? [], results.get(aim.other) ?? []) }));
  const table = tabulate(results);
  const rounds = aims[0]?.cpu.length ?? 0;
  return {
    figures: Array.from({ length: rounds }, (_, round) =>
      Math.min(...aims.map(({ cpu, atLeast }) => (cpu[round] ?? Number.NaN) / atLeast)),
    ),
    report: [formatTable(table), formatTable(tabulateAims(aims))].join("\n\n"),
    table,
    doubts: [],
    chart: {
      title: "Events per second of CPU time, that of the database included (longer is better)",
      bars: [...results].map(([name, samples]) => ({
        name,
        role: name === BATCHES || name === SINGLES ? "ours" : "baseline",
        value: 1e6 / medianOf(samples, ({ cpuUsPerOperation }) => cpuUsPerOperation),
      })),
    },
    rivals: [],
  };
}

function tabulate(results: Results): Table {
  const header = [
    "median of rounds",
    "CPU µs an event",
    "of that the server",
    "events/s",
    "p99 ms",
    "rounds",
  ];
  const rows = [...results].map(([name, samples]) => [
    name,
    medianOf(samples, ({ cpuUsPerOperation }) => cpuUsPerOperation).toFixed(1),
    medianOf(samples, ({ serverUs }) => serverUs).toFixed(1),
    medianOf(samples, ({ operationsPerSecond }) => operationsPerSecond).toFixed(0),
    samples.some((sample) => sample?.p99Us === undefined)
      ? ""
      : medianOf(samples, ({ p99Us = Number.NaN }) => p99Us / 1000).toFixed(1),
    String(samples.filter((sample) => sample !== undefined).length),
  ]);
  return [header, ...rows];
}

interface JudgedAim {
  readonly ours: string;
  readonly other: string;
  readonly atLeast: number;
  readonly cpu: readonly number[];
  readonly rate: readonly number[];
}

function tabulateAims(aims: readonly JudgedAim[]): Table {
  const header = ["", "CPU ratio", "goal", "", "rate ratio", "CPU ratio of each round"];
  const rows = aims.map(({ ours, other, atLeast, cpu, rate }) => [
    `${ours} against ${other}`,
    median(cpu).toFixed(2),
    `≥ ${atLeast}`,
    median(cpu) >= atLeast ? "ok" : "short",
    median(rate).toFixed(2),
    cpu.map((ratio) => ratio.toFixed(2)).join(" "),
  ]);
  return [header, ...rows];
}

function medianOf(
  samples: readonly (EventSample | undefined)[],
  of: (sample: EventSample) => number,
): number {
  return median(samples.filter((sample) => sample !== undefined).map(of));
}
