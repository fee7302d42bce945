/** The server programs under load: each runs in a fresh process on its own core. */
import { fileURLToPath } from "node:url";
import { bunPath, type Program, spawnProgram } from "@halyard/services";
import { type Command, pin } from "./pinning.ts";

/** What a server speaks, and where it accepts WebSockets. */
export interface Dialect {
  readonly protocol: "json" | "sio" | "trpc";
  readonly path: string;
}

export interface Server {
  /** As it reads in the tables. */
  readonly name: string;
  readonly dialect: Dialect;
  start(): Promise<RunningServer>;
}

/** The process to load; the second where there are two, which share what is published. */
export interface RunningServer extends Program {
  readonly second?: Program;
}

/** A running server, as the load generator needs it. */
export interface Target extends Dialect {
  readonly port: number;
  readonly pid: number;
  readonly second?: Pick<Program, "port" | "pid">;
}

/** Everybody's but where a library has its own. */
export const JSON_ENVELOPE: Dialect = { protocol: "json", path: "/ws" };

/** Some fill a database before they listen, on a busy machine for minutes. */
const READY_TIMEOUT_MS = 300_000;

/** A program run by Node; `url` is its file. */
export function nodeServer(name: string, url: string, ...args: readonly string[]): Server {
  return serverOf(name, () => ({ command: process.execPath, args: [fileURLToPath(url), ...args] }));
}

/** A program run by Bun; `url` is its file. */
export function bunServer(name: string, url: string, ...args: readonly string[]): Server {
  return serverOf(name, () => ({ command: bunPath(), args: [fileURLToPath(url), ...args] }));
}

function serverOf(name: string, command: () => Command): Server {
  return {
    name,
    dialect: JSON_ENVELOPE,
    start: () => startServer(command()),
  };
}

export function startServer(command: Command): Promise<Program> {
  return spawnProgram({
    ...pin("server", command),
    // Options of this process, such as the condition that makes the sources be imported, are not the server's.
    env: { NODE_OPTIONS: undefined, NODE_ENV: "production" },
    readyTimeoutMs: READY_TIMEOUT_MS,
  });
}

/** Runs the server for as long as `use` takes, and adds what it wrote to an error. */
export async function withServer<Result>(
  server: Server,
  use: (target: Target) => Promise<Result>,
): Promise<Result> {
  const program = await server.start();
  try {
    const { port, pid, second } = program;
    return await use({ port, pid, ...(second && { second }), ...server.dialect });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.trim() : String(cause);
    const output = program.output().trim();
    throw new Error(`Loading "${server.name}" failed. ${reason}\nThe server wrote:\n${output}`, { cause });
  } finally {
    // A loaded server has nothing to finish; asking it nicely would only take time.
    await program.kill();
  }
}
