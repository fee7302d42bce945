/** CPU time of PostgreSQL for one database: the processes that serve its connections. */
import type { Pool } from "pg";
import { readCpuUs } from "../process-cpu.ts";

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
  const us = readCpuUs(pid);
  // Without a value it has ended since it was listed.
  return us === undefined ? [] : [[pid, us]];
}
