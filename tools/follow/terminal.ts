/** A newcomer's terminal: bash in one folder, without the variables of this process. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../process.ts";
import { root } from "../repository.ts";
import type { Outcome } from "../steps.ts";

const TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 50;

/** What installing packages needs on machines with a proxy or a registry of their own. */
const KEPT =
  /^(?:HOME|LANG|TMPDIR|XDG_CACHE_HOME|NODE_EXTRA_CA_CERTS|(?:https?|no)_proxy|npm_config_(?:registry|cache|cafile))$/i;

/** The variables of a new terminal. */
export function terminalVariables(): Record<string, string> {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.startsWith(root));
  const kept = Object.entries(process.env).filter(([name, value]) => KEPT.test(name) && value !== undefined);
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    PATH: [dirname(process.execPath), ...path].join(delimiter),
    NO_COLOR: "1",
    TERM: "dumb",
    // npx asks before it downloads a program; a newcomer agrees.
    npm_config_yes: "true",
  };
}

export interface Ended extends Outcome {
  /** The folder in which the next command runs. */
  readonly cwd: string;
}

/** Runs one line to its end. */
export async function runLine(line: string, cwd: string): Promise<Ended> {
  const place = `${cwd.replace(/\/$/, "")}.pwd`;
  const script = `${line}\ncode=$?\npwd > '${place}'\nexit $code`;
  const variables = Object.entries(terminalVariables()).map(([name, value]) => `${name}=${value}`);
  const args = ["-i", ...variables, "bash", "-o", "pipefail", "-c", script];
  const { ok, output } = await run("env", args, { cwd, timeoutMs: TIMEOUT_MS });
  const next = existsSync(place) ? readFileSync(place, "utf8").trim() : cwd;
  rmSync(place, { force: true });
  return { ok, output, cwd: next };
}

/** A command that keeps running. */
export interface Background {
  readonly line: string;
  output(): string;
  /** Polls until `isReady` accepts the output. False if the command ended or the time is over before. */
  waitFor(isReady: (output: string) => boolean): Promise<boolean>;
  /** Ctrl+C. False if it did not end in time. */
  stop(timeoutMs?: number): Promise<boolean>;
  kill(): void;
}

export function startLine(line: string, cwd: string): Background {
  const child = spawn("bash", ["-c", line], {
    cwd,
    env: terminalVariables(),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  let isOver = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  child.on("error", ({ message }) => {
    output += message;
    isOver = true;
  });
  child.on("exit", () => {
    isOver = true;
  });
  return {
    line,
    output: () => output,
    async waitFor(isReady) {
      await until(() => isReady(output) || isOver, TIMEOUT_MS);
      return isReady(output);
    },
    stop(timeoutMs = STOP_TIMEOUT_MS) {
      signal(child, "SIGINT");
      return until(() => isOver, timeoutMs);
    },
    kill() {
      signal(child, "SIGKILL");
    },
  };
}

/** Polls until the condition holds; false when the time is over. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  timeoutMs: number = TIMEOUT_MS,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await holds()) return true;
    await sleep(POLL_MS);
  }
  return holds();
}

/** The command is the leader of its process group, so the signal reaches what it has started. */
function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // It has ended.
  }
}
