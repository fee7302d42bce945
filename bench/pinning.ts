/** Gives the server and the load generator a core each, so that neither takes the other's time. */
import { spawnSync } from "node:child_process";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

const PROGRAM = "taskset";
const CORES = { server: "0", generator: "1" } as const;

let possible: boolean | undefined;

/** Whether both cores are there and this machine lets us choose them. */
export function canPin(): boolean {
  possible ??= Object.values(CORES).every(
    (core) => spawnSync(PROGRAM, ["-c", core, "true"], { stdio: "ignore" }).status === 0,
  );
  return possible;
}

/** The same command on its own core, or unchanged where pinning is not possible. */
export function pin(role: keyof typeof CORES, { command, args }: Command): Command {
  if (!canPin()) return { command, args };
  return { command: PROGRAM, args: ["-c", CORES[role], command, ...args] };
}
