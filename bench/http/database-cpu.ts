/** CPU time of PostgreSQL for one database: the processes that serve its connections. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Pool } from "pg";

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

export type CpuReading = ReadonlyMap<number, number>;

/** By process, in µs. */
export async function readDatabaseCpu(pool: Pool): Promise<CpuReading> {
  const { rows } = await pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  return new Map(rows.flatMap(({ pid }) => cpuOf(pid)));
}

/** The CPU time of the processes that exist at the end, since the beginning. */
export function usedBetween(before: CpuReading, after: CpuReading): number {
  let used = 0;
  for (const [pid, us] of after) used += us - (before.get(pid) ?? 0);
  return used;
}

function cpuOf(pid: number): [number, number][] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses and may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return [[pid, (ticks / ticksPerSecond) * 1e6]];
  } catch {
    // It has ended since it was listed.
    return [];
  }
}
