/** The loads for a server and their results. */
import { z } from "zod";
import { runGenerator } from "./generator.ts";
import type { Sample } from "./judge.ts";
import { type Effort, isSmoke } from "./measurement.ts";
import type { Target } from "./server.ts";

/** Loads a server and returns its result. */
export type Load<Achieved> = (target: Target, effort: Effort) => Promise<Achieved>;

/** The result of the load, with figures that show whether the server was the bottleneck. */
export interface LoadSample extends Sample {
  readonly serverCores: number;
  readonly generatorCores: number;
}

/** The resident memory of a process after a garbage collection. */
export interface Footprint {
  readonly kbPerConnection: number;
  /** Without any connection. */
  readonly emptyKb: number;
}

const cpuTime = z.number().positive({
  error: "The server used no measurable CPU time. Measure longer.",
});

const rpcResult = z.object({
  rps: z.number(),
  p99_us: z.number(),
  mismatch: z.number(),
  client_cpu: z.number(),
  server_cpu: z.number(),
  server_us_per_req: cpuTime,
});

/** Requests with a fixed number in flight on each connection. */
export function rpcLoad(options: { readonly connections: number; readonly depth: number }): Load<LoadSample> {
  return async (target, effort) => {
    const more = ["--n", String(options.connections), "--depth", String(options.depth)];
    const { result, complaints } = await run("rpc", target, effort, more);
    const achieved = rpcResult.parse(result);
    if (achieved.mismatch > 0)
      throw new Error(`${achieved.mismatch} responses were wrong, for example:\n${complaints}`);
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

/** One publisher and many subscribers, with a limit of published messages that are not yet delivered to all. */
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

const streamResult = z.object({
  items_s: z.number(),
  client_cpu: z.number(),
  server_cpu: z.number(),
  server_us_per_item: cpuTime,
});

/** One endless stream on each connection, paced by credit. */
export function streamLoad(options: { readonly connections: number }): Load<LoadSample> {
  return async (target, effort) => {
    const { result } = await run("stream", target, effort, ["--n", String(options.connections)]);
    const achieved = streamResult.parse(result);
    return {
      cpuUsPerOperation: achieved.server_us_per_item,
      operationsPerSecond: achieved.items_s,
      serverCores: achieved.server_cpu,
      generatorCores: achieved.client_cpu,
    };
  };
}

const idleResult = z.object({ empty_kb: z.number().positive(), kb_per_conn: z.number() });

/** Connections that subscribe to a topic and stay idle. */
export function idleLoad(options: { readonly connections: number }): Load<Footprint> {
  return async (target, effort) => {
    const connections = isSmoke(effort) ? options.connections / 10 : options.connections;
    const { result } = await run("idle", target, effort, ["--n", String(connections)]);
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
  // Idle connections settle three times.
  return runGenerator(args, 3 * warmSeconds + measuredSeconds);
}
