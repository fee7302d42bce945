// The system's process table: descendants of a process, and whether a recorded process is still the same one.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

interface Entry {
  readonly pid: number;
  readonly parent: number;
  /** A process id can be reused, but not with the same start time. */
  readonly startedAt: string;
  readonly zombie: boolean;
}

// Debian's small images have no `ps`, and other systems have no /proc.
function readProc(pid: string): Entry | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, which may contain spaces and parentheses.
  const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { pid: Number(pid), parent: Number(parent), startedAt: rest[17] ?? "", zombie: state === "Z" };
}

function readPs(args: readonly string[]): Entry[] {
  let listing: string;
  try {
    listing = execFileSync("ps", [...args, "-o", "pid=,ppid=,stat=,lstart="], { encoding: "utf8" });
  } catch {
    return [];
  }
  return listing
    .trim()
    .split("\n")
    .map((line) => {
      const [pid, parent, state, ...started] = line.trim().split(/\s+/);
      return {
        pid: Number(pid),
        parent: Number(parent),
        startedAt: started.join(" "),
        zombie: state?.startsWith("Z") ?? false,
      };
    });
}

function allProcesses(): Entry[] {
  if (process.platform !== "linux") return readPs(["-A"]);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readProc)
    .filter((entry) => entry !== undefined);
}

/** When the process started, in the system's notation. Undefined when no such process runs. */
export function processStart(pid: number): string | undefined {
  const entry = process.platform === "linux" ? readProc(String(pid)) : readPs(["-p", String(pid)])[0];
  return entry === undefined || entry.zombie ? undefined : entry.startedAt;
}

/**
 * Whether every thread of the process is suspended. A signal suspends a thread only when it is scheduled, and until
 * then it may still respond. Where there is no /proc, the answer is yes.
 */
export function isSuspended(pid: number): boolean {
  if (process.platform !== "linux") return true;
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
      return /^[TtZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
    });
  } catch {
    // A thread or the process ended while it was read.
    return processStart(pid) === undefined;
  }
}

/** All running descendants of `pid`, nearest first. */
export function descendants(pid: number): number[] {
  const entries = allProcesses().filter((entry) => !entry.zombie);
  const found = [pid];
  for (const parent of found) {
    found.push(...entries.filter((entry) => entry.parent === parent).map((entry) => entry.pid));
  }
  return found.slice(1);
}
