/** A `pg` pool as it is used here: by shape, because nothing of `pg` is loaded. */
import { FeatureFlagError } from "../model/errors.ts";
import { within } from "./wait.ts";

export type PostgresQuery = { name?: string; text: string; values?: unknown[] };
export type PostgresRow = Record<string, unknown>;
export type PostgresRows = { rows: PostgresRow[] };

export type PostgresClient = {
  query(query: PostgresQuery): Promise<PostgresRows>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  release(error?: Error): void;
};

/** What is used of a `Pool` of `pg`. */
export type PostgresPool = {
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  readonly options: { readonly max?: number | undefined };
};

export function assertPostgresPool(pool: PostgresPool): void {
  const { connect, on, options, Client } = pool as Partial<Record<string, unknown>>;
  const isPool =
    typeof connect === "function" &&
    typeof on === "function" &&
    typeof options === "object" &&
    typeof Client === "function";
  if (!isPool) throw new TypeError("`postgres` must be a `Pool` of the package `pg`.");
}

const guarded = new WeakSet<PostgresPool>();

/** Without a listener, a connection that breaks while nobody uses it ends the process. */
export function guardPool(pool: PostgresPool, warn: (message: string, error: unknown) => void): void {
  if (guarded.has(pool)) return;
  guarded.add(pool);
  pool.on("error", (error) => warn("An idle connection of the PostgreSQL pool broke.", error));
}

/** No answer in time. What was asked for may yet happen. */
class PostgresTimeout extends Error {
  override readonly name = "PostgresTimeout";
}

/** Runs `work` on a connection, which is thrown away when it broke or took too long. */
async function onClient<Result>(
  pool: PostgresPool,
  timeoutMs: number,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool, timeoutMs);
  const ignore = () => undefined;
  // It breaks with an event besides the failed query, and without a listener that ends the process.
  client.on("error", ignore);
  try {
    const result = await inTime(work(client), timeoutMs);
    client.removeListener("error", ignore);
    client.release();
    return result;
  } catch (error) {
    if (isAnswer(error)) {
      client.removeListener("error", ignore);
      client.release();
    } else client.release(error instanceof Error ? error : new Error("The query failed."));
    throw error;
  }
}

export async function runQuery(
  pool: PostgresPool,
  timeoutMs: number,
  query: PostgresQuery,
): Promise<PostgresRow[]> {
  return (await onClient(pool, timeoutMs, (client) => client.query(query))).rows;
}

async function connect(pool: PostgresPool, timeoutMs: number): Promise<PostgresClient> {
  const connecting = pool.connect();
  try {
    return await inTime(connecting, timeoutMs);
  } catch (error) {
    connecting.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  }
}

async function inTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  let isLate = true;
  try {
    return await within(
      work.finally(() => {
        isLate = false;
      }),
      timeoutMs,
      "late",
    );
  } catch (error) {
    throw isLate ? new PostgresTimeout("PostgreSQL did not answer in time.") : error;
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** PostgreSQL's own codes; those of the driver and of the network have no digit in them, or another length. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Connection failures; a server that stops, starts, or ends the session; one that has no place left. */
const BROKEN = /^(08...|57P0[1-5]|53300)$/;

/** Whether the server has answered, if with a refusal, and goes on to answer on this connection. */
function isAnswer(error: unknown): boolean {
  const code = codeOf(error);
  return SQLSTATE.test(code) && !BROKEN.test(code);
}

/** Whether the connection broke or could not be made: then nobody knows what became of the query. */
export function isBroken(error: unknown): boolean {
  return !isAnswer(error) && !(error instanceof PostgresTimeout);
}

/** Whether the statement was undone because of another one, and nothing is wrong with doing it again. */
export function lostToAnother(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

/** Whether PostgreSQL will not take these values, however often they are sent. */
export function isUnstorable(error: unknown): boolean {
  return /^(22|23|54)...$/.test(codeOf(error));
}

/** No such table, column or schema. */
const UNKNOWN_NAMES = ["42P01", "42703", "3F000"];
const NO_SUCH_OPERATOR = "42883";

/** Whether PostgreSQL knows no such table, column, schema or comparison. */
export function isMisunderstood(error: unknown): boolean {
  return [...UNKNOWN_NAMES, NO_SUCH_OPERATOR].includes(codeOf(error));
}

/** Of the syntax and of rights, or because nothing may be written, or for want of the feature. */
const IMPOSSIBLE = /^(42...|3F000|25006|0A000)$/;

/** Whether PostgreSQL will not do this here, however often it is asked. */
export function isImpossible(error: unknown): boolean {
  return IMPOSSIBLE.test(codeOf(error));
}

const MISSING_TABLES =
  "The tables of the option `postgres` are missing, or older than this version. Run the SQL text " +
  "`featureFlagsPostgresMigration` of `@halyard/flags` on the same database and schema, once before each deploy: " +
  "`await pool.query(featureFlagsPostgresMigration)`.";

/** Whatever PostgreSQL throws leaves as a STORAGE_ERROR. */
export function storageError(error: unknown): FeatureFlagError {
  if (UNKNOWN_NAMES.includes(codeOf(error))) {
    return new FeatureFlagError("STORAGE_ERROR", MISSING_TABLES, { cause: error });
  }
  return FeatureFlagError.wrap(error, "STORAGE_ERROR");
}
