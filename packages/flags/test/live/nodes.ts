/** Processes with live flags, with a Redis between them. Both can be killed and started again. */
import type { FeatureFlagsBus } from "@halyard/flags";
import { freePort, type Program, spawnProgram, startRedis } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { connectSessions } from "@halyard/sessions";
import { redisSessionBus } from "@halyard/sessions/redis";
import type { Host } from "../host.ts";
import { connectRedis } from "../redis-storage.ts";
import { createNodeBus, type NodeBus } from "./node-bus.ts";

const PROGRAM = new URL("../fixtures/live-node.ts", import.meta.url).pathname;

export interface LiveNodes {
  readonly liveUrls: readonly string[];
  /** Starts the processes. The tables must exist: Better Auth refuses requests if it found none at its start. */
  start(): Promise<void>;
  pidOf(at: number): number;
  /** Lets a process collect its garbage. */
  collectGarbage(at: number): void;
  /** The bus of another process. */
  openBus(): Promise<FeatureFlagsBus>;
  /** Lets another process announce changes of sessions. */
  connect(host: Host): Promise<void>;
  /** Kills a process and starts it again on its port, after `meanwhile`. */
  killNode(at: number, meanwhile?: () => Promise<void>): Promise<void>;
  /** Kills Redis and starts it again on its port. */
  killBus(): Promise<void>;
  /** Ends all processes. */
  close(): Promise<void>;
}

export interface NodeOptions {
  /** Between the processes. Redis by default. */
  readonly bus?: NodeBus;
  readonly pollMs?: number;
}

/** Starts Redis, and names the addresses of the processes. */
export async function createNodes(
  databaseUrl: string,
  count: number,
  { bus = "Redis", pollMs = 500 }: NodeOptions = {},
): Promise<LiveNodes> {
  const redis = await startRedis();
  const pool = openPool({ connectionString: databaseUrl, max: 4 });
  const clients: Awaited<ReturnType<typeof connectRedis>>[] = [];
  const openClient = async () => {
    const client = await connectRedis(redis.url);
    clients.push(client);
    return client;
  };
  const spawn = (port: number) =>
    spawnProgram({
      command: process.execPath,
      args: [
        "--expose-gc",
        "--conditions=@halyard/source",
        ...[PROGRAM, String(port), databaseUrl, redis.url, bus, String(pollMs)],
      ],
    });
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const programs: Program[] = [];
  const pidOf = (at: number): number => {
    const program = programs[at];
    if (program === undefined) throw new RangeError(`There is no process ${at}.`);
    return program.pid;
  };
  return {
    liveUrls: ports.map((port) => `ws://127.0.0.1:${port}/`),
    async start() {
      programs.push(...(await Promise.all(ports.map(spawn))));
    },
    pidOf,
    collectGarbage: (at) => void process.kill(pidOf(at), "SIGUSR2"),
    openBus: async () => createNodeBus(bus, { pool, client: await openClient() }),
    async connect({ auth }) {
      await connectSessions(auth, redisSessionBus(await openClient()));
    },
    async killNode(at, meanwhile) {
      const port = ports[at];
      if (port === undefined) throw new RangeError(`There is no process ${at}.`);
      await programs[at]?.kill();
      await meanwhile?.();
      programs[at] = await spawn(port);
    },
    async killBus() {
      await redis.kill();
      await redis.restart();
    },
    async close() {
      for (const program of programs) await program.kill();
      for (const client of clients) client.destroy();
      await pool.end();
      await redis.stop();
    },
  };
}
