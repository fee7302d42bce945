// Runs a program to its end and includes its output in the error when it fails.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Launch } from "./child.ts";

/** Resolves to standard output. Rejects with the program's output when the exit code is not 0. */
export async function run(launch: Launch): Promise<string> {
  const child = spawn(launch.command, launch.args, {
    stdio: ["ignore", "pipe", "pipe"],
    ...(launch.cwd !== undefined && { cwd: launch.cwd }),
    ...(launch.env !== undefined && { env: launch.env }),
    ...launch.user,
  });
  const ended = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(signal ?? `code ${code}`));
  });
  const [ending, output, complaints] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (ending === "code 0") return output;
  throw new Error(`${launch.command} ended with ${ending}:\n${(complaints || output).trim().slice(-2000)}`);
}
