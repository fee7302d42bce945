/** Runs one command to its end: its output, its exit code, and never longer than its timeout. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "./repository.ts";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Shows the output as it comes instead of collecting it. */
  readonly live?: boolean;
  readonly timeoutMs?: number;
}

export interface Finished {
  readonly ok: boolean;
  /** What the command wrote to stdout and stderr; empty with `live`. */
  readonly output: string;
  /** What the command wrote to stdout alone; empty with `live`. */
  readonly stdout: string;
  readonly durationMs: number;
}

const DEFAULT_TIMEOUT_MS = 5 * 60_000;
const GRACE_MS = 5_000;

/**
 * tsc and tsgolint are Go programs that end after seconds. Without garbage collection below this limit
 * they need two thirds of the CPU time.
 */
const GO_MEMORY: Readonly<Record<string, string>> = { GOGC: "off", GOMEMLIMIT: "2500MiB" };

/** The command of a development dependency. */
export function bin(name: string): string {
  return join(root, "node_modules", ".bin", name);
}

/** Runs TypeScript's compiler. */
export function runTsc(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  // One thread: several check the same types several times, and the other cores have other steps to run.
  return run(bin("tsc"), [...args, "--pretty", "false", "--singleThreaded"], { ...options, env: GO_MEMORY });
}

/** Runs oxlint with the rules that need types. */
export function runOxlint(args: readonly string[]): Promise<Finished> {
  return run(bin("oxlint"), ["--type-aware", ...args], { env: GO_MEMORY });
}

export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { cwd = root, env = {}, live = false, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const startedAt = performance.now();
  const stream = live ? "inherit" : "pipe";
  // A process group of its own, so that a timeout also ends what the command has started.
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", stream, stream],
    detached: true,
  });
  const stopForwarding = forwardSignals(child);
  const both: Buffer[] = [];
  const first: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    both.push(chunk);
    first.push(chunk);
  });
  child.stderr?.on("data", (chunk: Buffer) => both.push(chunk));

  return new Promise((resolve) => {
    let problem = "";
    const timers: NodeJS.Timeout[] = [];
    const after = (ms: number, action: () => void): number => timers.push(setTimeout(action, ms));
    after(timeoutMs, () => {
      problem = `\nStopped: still running after ${formatDuration(timeoutMs)}: ${command} ${args.join(" ")}\n`;
      endGroup(child, "SIGTERM");
      after(GRACE_MS, () => endGroup(child, "SIGKILL"));
    });
    const finish = (ok: boolean): void => {
      for (const timer of timers) clearTimeout(timer);
      stopForwarding();
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (live && problem !== "") process.stderr.write(problem);
      resolve({
        ok: ok && problem === "",
        output: Buffer.concat(both).toString("utf8") + problem,
        stdout: Buffer.concat(first).toString("utf8"),
        durationMs: performance.now() - startedAt,
      });
    };
    child.on("error", (error) => {
      problem = `\nCannot run ${command}: ${error.message}. Is everything installed (npm ci)?\n`;
      finish(false);
    });
    child.on("close", (code) => finish(code === 0));
    // "close" waits until no process holds the pipes; a server that the command left running would delay it.
    child.on("exit", (code) => after(GRACE_MS, () => finish(code === 0)));
  });
}

export function formatDuration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}

/** A Ctrl-C reaches only the terminal's own process group: pass it on. */
function forwardSignals(child: ChildProcess): () => void {
  const stop = (signal: NodeJS.Signals): void => {
    endGroup(child, signal);
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return () => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  };
}
