// One child process with its descendants: signalled, awaited, and ended together with this process.

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { descendants, isSuspended } from "./process-table.ts";
import { disown, own } from "./watchdog.ts";

const SUSPENDED_WITHIN_MS = 5_000;

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Run as this user. Only root can. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** The exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly running: boolean;
  /** Sends `signal`, waits, and kills it after `graceMs`. */
  stop(signal?: NodeJS.Signals, graceMs?: number): Promise<void>;
  /** Sends SIGKILL to it and all its descendants. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Suspends it and all its descendants before it returns: connections stay open without responses. */
  pause(): void;
  /** Sends SIGCONT: the opposite of `pause`. */
  resume(): void;
}

/** Starts a process. It does not keep this process alive, and ends with it. */
export async function spawnChild(launch: Launch, stdio: StdioOptions): Promise<Child> {
  const child = spawn(launch.command, launch.args, {
    stdio,
    ...(launch.cwd !== undefined && { cwd: launch.cwd }),
    ...(launch.env !== undefined && { env: launch.env }),
    ...launch.user,
  });
  const { pid } = child;
  if (pid === undefined) {
    const [error] = await once(child, "error");
    throw new Error(`Cannot start ${launch.command}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
  own(pid);
  let running = true;
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => {
      running = false;
      disown(pid);
      resolve(code);
    });
  });
  child.unref();

  function signalTree(signal: NodeJS.Signals): void {
    if (!running || pid === undefined) return;
    // The parent first, so that it starts no further child in between.
    const family = [pid, ...descendants(pid)];
    for (const member of family) {
      try {
        process.kill(member, signal);
      } catch {
        // It ended between the listing and the signal.
      }
    }
  }

  function pause(): void {
    if (!running || pid === undefined) return;
    signalTree("SIGSTOP");
    const deadline = performance.now() + SUSPENDED_WITHIN_MS;
    while (!isSuspended(pid)) {
      if (performance.now() > deadline) throw new Error(`Process ${pid} did not stop on SIGSTOP.`);
    }
  }

  async function kill(): Promise<void> {
    child.ref();
    signalTree("SIGKILL");
    await exited;
  }

  return {
    pid,
    process: child,
    exited,
    get running() {
      return running;
    },
    async stop(signal = "SIGTERM", graceMs = 5000) {
      if (!running) return;
      child.ref();
      // A paused process handles only SIGKILL until it continues.
      signalTree("SIGCONT");
      child.kill(signal);
      const timer = setTimeout(() => signalTree("SIGKILL"), graceMs);
      await exited;
      clearTimeout(timer);
    },
    kill,
    pause,
    resume: () => signalTree("SIGCONT"),
  };
}
