/** Whether the database ends the transaction of a frozen process, where transactions are not opened here. */
import { within } from "@halyard/base";
import { isPostgresPool, runQuery } from "./postgres/pool.ts";

/**
 * `set`: the locks of a frozen process end in bounded time. `missing`: the connections of the application have no such
 * timeouts. `unknown`: this process cannot see the settings, or the database needs none.
 */
export type WriteTimeouts = "set" | "missing" | "unknown";

const WAIT_MS = 1000;
const MAX_AGE_MS = 60_000;

const POSTGRES =
  "select current_setting('lock_timeout') <> '0' and " +
  "current_setting('idle_in_transaction_session_timeout') <> '0' as \"isSet\"";
/** 50 s is the default of the first, which blocks writers for too long. MySQL does not have the second. */
const MARIADB = "select @@innodb_lock_wait_timeout <= 10 and @@idle_transaction_timeout > 0 as isSet";

/** The part of a pool of `mysql2/promise` that is used. */
type MysqlPool = { query(text: string): Promise<unknown> };

function isMysqlPool(value: unknown): value is MysqlPool {
  return typeof value === "object" && value !== null && "getConnection" in value && "query" in value;
}

/** Reads the settings at most once a minute. `postgres` is the pool of the plugin's option, if any. */
export function createWriteTimeouts(database: unknown, postgres: unknown): () => Promise<WriteTimeouts> {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let state: Promise<WriteTimeouts> = Promise.resolve("unknown");
  return () => {
    if (performance.now() - readAtMs > MAX_AGE_MS) {
      readAtMs = performance.now();
      state = readTimeouts(database, postgres);
    }
    return state;
  };
}

async function readTimeouts(database: unknown, postgres: unknown): Promise<WriteTimeouts> {
  try {
    if (isPostgresPool(postgres)) return stateOf(await runQuery(postgres, WAIT_MS, { text: POSTGRES }));
    if (!isMysqlPool(database)) return "unknown";
    const asked = Promise.resolve(database.query(MARIADB));
    const [rows] = (await within(asked, WAIT_MS, "The database did not answer in time.")) as [Row[]];
    return stateOf(rows);
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && error.code === "ER_UNKNOWN_SYSTEM_VARIABLE";
    return isMissing ? "missing" : "unknown";
  }
}

type Row = Readonly<Record<string, unknown>>;

function stateOf([row]: readonly Row[]): WriteTimeouts {
  return row?.["isSet"] === true || row?.["isSet"] === 1 ? "set" : "missing";
}
