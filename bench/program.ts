/** Programs that measure themselves: each runs once, in a fresh Node on its own core, and prints one JSON value. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { pin } from "./pinning.ts";

/** A program may complain about each of thousands of connections. Few complaints say what is wrong. */
const SHOWN_CHARACTERS = 2_000;
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;

/** What the program printed. The beginning of what it wrote to stderr goes to ours, or into the error if it failed. */
export async function runProgram(role: "server" | "generator", ...args: readonly string[]): Promise<unknown> {
  const pinned = pin(role, { command: process.execPath, args });
  // Options of this process, such as the condition that imports the sources, do not apply to the program.
  const env = { ...process.env, NODE_OPTIONS: "", NODE_ENV: "production" };
  try {
    const options = { env, maxBuffer: MAX_OUTPUT_BYTES };
    const { stdout, stderr } = await promisify(execFile)(pinned.command, pinned.args, options);
    process.stderr.write(stderr.slice(0, SHOWN_CHARACTERS));
    return JSON.parse(stdout);
  } catch (cause) {
    const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : "";
    throw new Error(
      `${args.join(" ")} failed. It wrote: ${stderr.slice(0, SHOWN_CHARACTERS) || "nothing to stderr"}`,
      { cause },
    );
  }
}
