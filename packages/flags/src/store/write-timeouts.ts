/** Whether the database ends the transaction of a frozen process, where the plugin does not open transactions itself. */
import { within } from "@halyard/base";
import { isPostgresPool, runQuery } from "./postgres/pool.ts";

export type WriteTimeouts = "set" | "missing" | "unknown";

const WAIT_MS = 1000;
const ASK_AGAIN_MS = 60_000;

const POSTGRES = `select current_setting('lock_timeout') <> '0'
  and current_setting('idle_in_transaction_session_timeout') <> '0' as "isSet"`;
/** 50 s is the default of the first, which blocks writers for too long. MySQL does not have the second. */
const MARIADB = "select @@innodb_lock_wait_timeout <= 10 and @@idle_transaction_timeout > 0 as isSet";

/** The part of a pool of `mysql2/promise` that is used. */
type MysqlPool = { query(text: string): Promise<[readonly { readonly isSet?: unknown }[], unknown]> };

function isMysqlPool(value: unknown): value is MysqlPool {
  return typeof value === "object" && value !== null && "getConnection" in value && "query" in value;
}

/** Asks again until the timeouts are set, at most once a minute. */
export function watchWriteTimeouts(
  read: () => Promise<WriteTimeouts>,
  nowMs: () => number = () => performance.now(),
): () => Promise<WriteTimeouts> {
  let last: { readonly state: Promise<WriteTimeouts>; readonly atMs: number } | undefined;
  return async () => {
    const state = await last?.state;
    if (last === undefined || (state !== "set" && nowMs() - last.atMs >= ASK_AGAIN_MS)) {
      last = { state: read(), atMs: nowMs() };
    }
    return last.state;
  };
}

/** `postgres` is the pool of the plugin's option, if any. */
export async function readWriteTimeouts(database: unknown, postgres: unknown): Promise<WriteTimeouts> {
  try {
    const [row] = isPostgresPool(postgres)
      ? await runQuery(postgres, WAIT_MS, { text: POSTGRES })
      : isMysqlPool(database)
        ? (await within(database.query(MARIADB), WAIT_MS, "MariaDB did not answer in time."))[0]
        : [];
    return row === undefined ? "unknown" : row["isSet"] === true || row["isSet"] === 1 ? "set" : "missing";
  } catch {
    return "unknown";
  }
}
