/** The server programs under load. Each runs in a fresh process on its own core. */
import { fileURLToPath } from "node:url";
import { bunPath, type Program, spawnProgram } from "@halyard/services";
import { type Command, pin } from "./pinning.ts";

/** The protocol of a server, and the path where it accepts WebSockets. */
export interface Dialect {
  readonly protocol: "json" | "sio" | "trpc";
  readonly path: string;
}

export interface Server {
  /** Its name in the tables. */
  readonly name: string;
  readonly dialect: Dialect;
  start(): Promise<RunningServer>;
}

/** The process to load, and a second one where two share published messages. */
export interface RunningServer extends Program {
  readonly second?: Program;
}

/** A running server as the load generator needs it. */
export interface Target extends Dialect {
  readonly port: number;
  readonly pid: number;
  readonly second?: Pick<Program, "port" | "pid">;
}

/** Default, for servers whose library has no protocol of its own. */
export const JSON_ENVELOPE: Dialect = { protocol: "json", path: "/ws" };

/** Some servers fill a database before they listen, which takes minutes on a busy machine. */
const READY_TIMEOUT_MS = 300_000;

/** A program run by Node. `url` is its file. */
export function nodeServer(name: string, url: string, ...args: readonly string[]): Server {
  return serverOf(name, () => ({ command: process.execPath, args: [fileURLToPath(url), ...args] }));
}

/** A program run by Bun. `url` is its file. */
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
    // Options of this process, such as the condition that imports the sources, do not apply to the server.
    env: { NODE_OPTIONS: undefined, NODE_ENV: "production" },
    readyTimeoutMs: READY_TIMEOUT_MS,
  });
}

/** Runs the server while `use` runs, and adds its output to an error. */
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
    // A loaded server has nothing to finish, and a graceful stop would only take time.
    await program.kill();
  }
}
