/** The loads a server is put under, and what each says about it. */
import { z } from "zod";
import { runGenerator } from "./generator.ts";
import type { Sample } from "./judge.ts";
import type { Effort } from "./measurement.ts";
import type { Target } from "./server.ts";

/** Loads a server and says what it achieved. */
export type Load<Achieved> = (target: Target, effort: Effort) => Promise<Achieved>;

/** What the load did, and whether it was the server that set the limit. */
export interface LoadSample extends Sample {
  readonly serverCores: number;
  readonly generatorCores: number;
}

/** What a process holds in RAM once its garbage is collected. */
export interface Footprint {
  readonly kbPerConnection: number;
  /** Without any connection. */
  readonly emptyKb: number;
}

const cpuTime = z.number().positive({
  error: "The server used no CPU time that the system could measure: measure longer.",
});

const rpcResult = z.object({
  rps: z.number(),
  p99_us: z.number(),
  mismatch: z.number(),
  client_cpu: z.number(),
  server_cpu: z.number(),
  server_us_per_req: cpuTime,
});

/** Requests answered one by one, a fixed number of them in flight on each connection. */
export function rpcLoad(options: { readonly connections: number; readonly depth: number }): Load<LoadSample> {
  return async (target, effort) => {
    const more = ["--n", String(options.connections), "--depth", String(options.depth)];
    const { result, complaints } = await run("rpc", target, effort, more);
    const achieved = rpcResult.parse(result);
    if (achieved.mismatch > 0)
      throw new Error(`${achieved.mismatch} answers were wrong, such as:\n${complaints}`);
    return {
      cpuUsPerOperation: achieved.server_us_per_req,
      operationsPerSecond: achieved.rps,
      p99Us: achieved.p99_us,
      serverCores: achieved.server_cpu,
      generatorCores: achieved.client_cpu,
    };
  };
}

const fanResult = z.object({
  deliveries_s: z.number(),
  client_cpu: z.number(),
  server_cpu: z.number(),
  server_us_per_delivery: cpuTime,
});

/** One publisher and many subscribers; so many published messages at most are not delivered to all yet. */
export function fanLoad(options: {
  readonly subscribers: number;
  readonly outstanding: number;
}): Load<LoadSample> {
  return async (target, effort) => {
    const more = ["--n", String(options.subscribers), "--window", String(options.outstanding)];
    const { result } = await run("fan", target, effort, more);
    const achieved = fanResult.parse(result);
    return {
      cpuUsPerOperation: achieved.server_us_per_delivery,
      operationsPerSecond: achieved.deliveries_s,
      serverCores: achieved.server_cpu,
      generatorCores: achieved.client_cpu,
    };
  };
}

const idleResult = z.object({ empty_kb: z.number().positive(), kb_per_conn: z.number() });

/** Connections that subscribe to a topic and then do nothing. */
export function idleLoad(options: { readonly connections: number }): Load<Footprint> {
  return async (target, effort) => {
    const { result } = await run("idle", target, effort, ["--n", String(options.connections)]);
    const achieved = idleResult.parse(result);
    return { kbPerConnection: achieved.kb_per_conn, emptyKb: achieved.empty_kb };
  };
}

function run(
  mode: string,
  { port, pid, second, protocol, path }: Target,
  { warmSeconds, measuredSeconds }: Effort,
  more: readonly string[],
): ReturnType<typeof runGenerator> {
  const args = ["--mode", mode, "--port", String(port), "--pid", String(pid), ...more];
  if (second !== undefined) args.push("--port2", String(second.port), "--pid2", String(second.pid));
  args.push("--proto", protocol, "--path", path);
  args.push("--warm", String(warmSeconds), "--secs", String(measuredSeconds));
  // Idle connections get the time to settle three times.
  return runGenerator(args, 3 * warmSeconds + measuredSeconds);
}
