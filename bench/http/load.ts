/** The load of the HTTP benches: requests at a steady rate, whatever the server does, and then as many as it answers. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { runGenerator } from "../generator.ts";
import type { LoadSample } from "../load.ts";
import type { Effort } from "../measurement.ts";
import type { Target } from "../server.ts";
import { COUNT_PATH } from "../servers/flags/counted.ts";

export interface HttpSample extends LoadSample {
  readonly p50Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
  /** Share of the requests that were sent more than one millisecond late. */
  readonly lateShare: number;
}

/**
 * The judged result at the server's limit: its CPU time per request there, plus that request's share of the background
 * work at the steady rate, which is larger the fewer requests there are. Also the result at the steady rate.
 */
export interface PacedSample extends HttpSample {
  readonly backgroundUs: number;
  readonly atRate: HttpSample;
  /** Share of the requests that Better Auth did not have to answer. Undefined where it is not counted. */
  readonly hitShare: number | undefined;
}

export interface Pace {
  /** The file with the requests. */
  readonly requests: string;
  readonly ratePerSecond: number;
  /** Whether the server caches callers. Then each of them sends one request before. */
  readonly knowsCallers: boolean;
  /** Whether it reports how many requests Better Auth had to answer. */
  readonly counts: boolean;
}

const result = z.object({
  rps: z.number().positive(),
  p50_us: z.number(),
  p95_us: z.number(),
  p99_us: z.number(),
  late: z.number(),
  mismatch: z.number(),
  client_cpu: z.number(),
  server_cpu: z.number(),
  server_us_per_req: z.number().positive(),
});

/** Enough that a slow response does not delay the next request. */
const PACED_CONNECTIONS = 64;
const SATURATING_CONNECTIONS = 16;
const CLEANED_UP_MS = 12_000;
/** 10,000 requests through Better Auth take half a minute, more on a busy machine. */
const LAP_SECONDS = 120;

export async function pacedLoad(target: Target, effort: Effort, pace: Pace): Promise<PacedSample> {
  const { warmSeconds } = effort;
  // In less time a slow server answers nothing.
  const measuredSeconds = Math.max(1, effort.measuredSeconds);
  const { requests, ratePerSecond, knowsCallers, counts } = pace;
  const atLimit = await httpLoad(target, {
    requests,
    connections: SATURATING_CONNECTIONS,
    laps: knowsCallers ? 1 : 0,
    warmSeconds,
    measuredSeconds,
  });
  const before = counts ? await countOf(target) : undefined;
  const atRate = await httpLoad(target, {
    requests,
    connections: PACED_CONNECTIONS,
    ratePerSecond,
    warmSeconds: 0,
    measuredSeconds,
  });
  const missed = before === undefined ? undefined : (await countOf(target)) - before;
  // After a load V8 cleans up for some seconds, which is not recurring work.
  if (knowsCallers && measuredSeconds > 1) await sleep(CLEANED_UP_MS);
  const backgroundUs = (await idleCpu(target, measuredSeconds)) / ratePerSecond;
  return {
    ...atLimit,
    cpuUsPerOperation: atLimit.cpuUsPerOperation + backgroundUs,
    backgroundUs,
    atRate,
    hitShare:
      missed === undefined ? undefined : hitShareOf(missed, atRate.operationsPerSecond * measuredSeconds),
  };
}

function hitShareOf(missed: number, answered: number): number {
  return Math.max(0, 1 - missed / answered);
}

/** CPU time in one second without requests, in µs. */
async function idleCpu({ pid }: Target, seconds: number): Promise<number> {
  const before = threadsCpuUs(pid);
  await sleep(seconds * 1000);
  const after = threadsCpuUs(pid);
  // A thread that has ended since then takes its count with it.
  const used = [...after].map(([thread, us]) => us - (before.get(thread) ?? 0));
  return used.reduce((sum, us) => sum + us, 0) / seconds;
}

/** Per thread, in nanoseconds. `stat` counts in hundredths of a second. */
function threadsCpuUs(pid: number): Map<string, number> {
  const folder = `/proc/${pid}/task`;
  return new Map(
    readdirSync(folder).map((thread) => {
      const line = readFileSync(`${folder}/${thread}/schedstat`, "utf8");
      return [thread, Number(line.split(" ")[0]) / 1000];
    }),
  );
}

export interface HttpLoad {
  readonly requests: string;
  readonly connections: number;
  /** Default: as many as are answered. */
  readonly ratePerSecond?: number;
  readonly laps?: number;
  readonly warmSeconds: number;
  readonly measuredSeconds: number;
}

export async function httpLoad({ port, pid }: Target, load: HttpLoad): Promise<HttpSample> {
  const { requests, connections, ratePerSecond = 0, laps = 0, warmSeconds, measuredSeconds } = load;
  const numbers = {
    port,
    pid,
    n: connections,
    rate: ratePerSecond,
    laps,
    warm: warmSeconds,
    secs: measuredSeconds,
  };
  const args = ["--mode", "http", "--requests", requests];
  for (const [name, value] of Object.entries(numbers)) args.push(`--${name}`, String(value));
  const run = await runGenerator(args, warmSeconds + measuredSeconds + laps * LAP_SECONDS);
  const achieved = result.parse(run.result);
  if (achieved.mismatch > 0)
    throw new Error(`${achieved.mismatch} responses were wrong, for example:\n${run.complaints}`);
  return {
    cpuUsPerOperation: achieved.server_us_per_req,
    operationsPerSecond: achieved.rps,
    p50Us: achieved.p50_us,
    p95Us: achieved.p95_us,
    p99Us: achieved.p99_us,
    lateShare: achieved.late,
    serverCores: achieved.server_cpu,
    generatorCores: achieved.client_cpu,
  };
}

async function countOf({ port }: Target): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${COUNT_PATH}`);
  return z.object({ count: z.number() }).parse(await response.json()).count;
}
