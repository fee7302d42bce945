/**
 * Remembers which event log the process that started last uses, so that processes with the other setting, which a rolling
 * deploy has not stopped yet, do not move rows back.
 */
import type { HostTables } from "../../postgres/host-tables.ts";

export type LogName = "adapter" | "postgres";

const TIMEOUT_MS = 10_000;

/** The statement that marks this log as the one in use. */
export function claimLog(name: LogName): string {
  return `insert into halyard_flag_log (in_use) values ('${name}')
  on conflict (is_only) do update set in_use = excluded.in_use`;
}

export async function isLogInUse(tables: HostTables, name: LogName): Promise<boolean> {
  const [row] = await tables.query(TIMEOUT_MS, "select in_use from halyard_flag_log");
  return row?.["in_use"] === name;
}
