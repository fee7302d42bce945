/** Gives the server and the load generator one core each, so that they do not compete for CPU time. */
import { spawnSync } from "node:child_process";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

const PROGRAM = "taskset";
const CORES = { server: "0", generator: "1" } as const;

let possible: boolean | undefined;

/** Whether the machine has both cores and allows pinning. */
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
