/** Runs `servers/live-flags.ts` and its clients, for measurements of live flags on Node and Bun. */
import { join } from "node:path";
import { bunPath } from "@halyard/services";
import { canPin } from "./pinning.ts";
import { runProgram } from "./program.ts";
import { startServer } from "./server.ts";

const FOLDER = join(import.meta.dirname, "servers");

export const RUNTIMES = ["Node", "Bun"] as const;
export type Runtime = (typeof RUNTIMES)[number];

export interface LiveLoad {
  readonly connections: number;
  /** Connections that no change concerns. */
  readonly unaffected: number;
  readonly otherFlags: number;
  readonly segmentFlags: number;
  readonly warmSeconds: number;
  readonly measuredSeconds: number;
  readonly change: "kill" | "segment";
}

/** What the clients print. */
export async function runLiveFlags(runtime: Runtime, load: LiveLoad): Promise<unknown> {
  const { connections, unaffected, otherFlags, segmentFlags, warmSeconds, measuredSeconds, change } = load;
  const sizes = [connections, otherFlags, segmentFlags].map(String);
  const command = runtime === "Bun" ? bunPath() : process.execPath;
  const server = await startServer({ command, args: [join(FOLDER, "live-flags.ts"), ...sizes] });
  try {
    const numbers = [server.port, connections, unaffected, warmSeconds, measuredSeconds].map(String);
    return await runProgram("generator", join(FOLDER, "live-flags-clients.ts"), ...numbers, change);
  } catch (cause) {
    throw new Error(`Live flags on ${runtime} failed. The server wrote:\n${server.output().trim()}`, {
      cause,
    });
  } finally {
    await server.kill();
  }
}

export function pinningDoubts(): string[] {
  return canPin() ? [] : ["Not pinned: taskset is missing, or the machine has fewer than two cores."];
}
