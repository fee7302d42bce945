/** Starts a program that may be a server: it must listen on a port, or end with code 0. */

import { spawn } from "node:child_process";
import { connect } from "node:net";
import { until } from "./follow/terminal.ts";
import type { Outcome } from "./steps.ts";

/** Runs a file until it has ended with code 0 or listens on one of the ports, whichever comes first. */
export async function startsOrEnds(
  file: string,
  cwd: string,
  ports: readonly number[],
  args: readonly string[] = [],
): Promise<Outcome> {
  const child = spawn(process.execPath, [...args, file], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, NO_COLOR: "1" },
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
  let isServer = false;
  try {
    await until(async () => {
      for (const port of ports) isServer ||= await isListening(port);
      return isServer || isOver;
    });
    const { exitCode } = child;
    return { ok: isServer || exitCode === 0, output: `${file} ended with ${exitCode}.\n${output}` };
  } finally {
    end(child.pid);
  }
}

function end(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Whether a server of any program uses the port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "localhost" });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
