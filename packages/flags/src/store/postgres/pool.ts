/** Runs queries on a `pg` pool and classifies its errors. The pool is typed by shape, because `pg` is not imported. */
import { ignore, within } from "@halyard/base";
import { FeatureFlagError } from "../../model/errors.ts";
import { storageError as storageErrorOf } from "../unavailable.ts";

/** A query, as `pg` takes it. */
export type PostgresQuery = { name?: string; text: string; values?: unknown[]; rowMode?: "array" };
export type PostgresRow = Record<string, unknown>;
/** The rows of a query. */
export type PostgresRows = { rows: PostgresRow[] };

/** The part of a client of `pg` that is used. */
export type PostgresClient = {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<PostgresRows>;
  /** Listens for a broken connection. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Stops listening. */
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  /** Returns the client to the pool; with an error, closes it. */
  release(error?: Error): void;
};

/** The part of a `Pool` of `pg` that is used. */
export type PostgresPool = {
  /** Takes a client from the pool. */
  connect(): Promise<PostgresClient>;
  /** Listens for broken idle connections. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** The settings of the pool. */
  readonly options: { readonly max?: number | undefined };
};

/** Whether a value is a `Pool` of `pg`. */
export function isPostgresPool(value: unknown): value is PostgresPool {
  if (typeof value !== "object" || value === null) return false;
  const { connect, on, options, Client } = value as Partial<Record<string, unknown>>;
  return (
    typeof connect === "function" &&
    typeof on === "function" &&
    typeof options === "object" &&
    typeof Client === "function"
  );
}

export function assertPostgresPool(pool: PostgresPool): void {
  if (!isPostgresPool(pool))
    throw new TypeError("The option `postgres` is not a pool. Pass a `Pool` of the package `pg`.");
}

const guarded = new WeakSet<PostgresPool | PostgresClient>();

/** Every `pg` pool tells who takes a client, but its type here does not. */
type Lending = { on(event: "acquire", listener: (client: PostgresClient) => void): unknown };

/** Without an `error` listener, a connection that breaks ends the process. The pool listens while it is idle only. */
export function guardPool(pool: PostgresPool, warn: (message: string, error: unknown) => void): void {
  if (guarded.has(pool)) return;
  guarded.add(pool);
  pool.on("error", (error) => warn("An idle connection of the PostgreSQL pool broke.", error));
  (pool as unknown as Lending).on("acquire", (client) => {
    if (guarded.has(client)) return;
    guarded.add(client);
    // Its queries fail with the same error.
    client.on("error", ignore);
  });
}

/** PostgreSQL did not answer in time. The query may still take effect. */
export class PostgresTimeout extends Error {
  override readonly name = "PostgresTimeout";
}

/** Runs `work` on a connection of the pool, and discards the connection if it broke or timed out. */
async function onClient<Result>(
  pool: PostgresPool,
  timeoutMs: number,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool, timeoutMs);
  let fault: Error | undefined;
  // A broken connection also emits `error`, and without a listener that ends the process.
  client.on("error", ignore);
  try {
    return await inTime(work(client), timeoutMs);
  } catch (error) {
    if (!isAnswer(error)) fault = error instanceof Error ? error : new Error("The query failed.");
    throw error;
  } finally {
    client.removeListener("error", ignore);
    client.release(fault);
  }
}

export async function runQuery(
  pool: PostgresPool,
  timeoutMs: number,
  query: PostgresQuery,
): Promise<PostgresRow[]> {
  return (await onClient(pool, timeoutMs, (client) => client.query(query))).rows;
}

export async function connect(pool: PostgresPool, timeoutMs: number): Promise<PostgresClient> {
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

export async function inTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
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

/** Error codes of PostgreSQL. Those of the driver and of the network contain no digit or have another length. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Connection failures, a server that stops or starts or ends the session, and too many connections. */
const BROKEN = /^(08...|57P0[1-5]|53300)$/;

/** Whether the server has answered with an error and the connection can still be used. */
export function isAnswer(error: unknown): boolean {
  const code = codeOf(error);
  return SQLSTATE.test(code) && !BROKEN.test(code);
}

/** Whether the connection broke or could not be opened. It is then unknown whether the query took effect. */
export function isBroken(error: unknown): boolean {
  return !isAnswer(error) && !(error instanceof PostgresTimeout);
}

/** Whether the statement was rolled back because of a concurrent one, so that it can be retried. */
export function lostToAnother(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

/** Whether PostgreSQL rejects the values. A retry does not help. */
export function isUnstorable(error: unknown): boolean {
  return /^(22|23|54)...$/.test(codeOf(error));
}

/** No such table, column or schema. */
const UNKNOWN_NAMES = ["42P01", "42703", "3F000"];
/** No such operator, and a value of another type than the column. */
const OTHER_TYPES = ["42883", "42804"];

/** Whether a table, a column, a schema or an operator does not exist, or a column has another type. */
export function isMisunderstood(error: unknown): boolean {
  return [...UNKNOWN_NAMES, ...OTHER_TYPES].includes(codeOf(error));
}

const MISSING_TABLES =
  "The tables of the option `postgres` are missing or older than this version. Run the SQL text " +
  "`featureFlagsPostgresMigration` of `@halyard/flags` on the same database and schema, once before each deploy: " +
  "`await pool.query(featureFlagsPostgresMigration)`.";

/** Wraps an error of PostgreSQL as STORAGE_ERROR. */
export function storageError(error: unknown): FeatureFlagError {
  if (UNKNOWN_NAMES.includes(codeOf(error))) {
    return new FeatureFlagError("STORAGE_ERROR", MISSING_TABLES, { cause: error });
  }
  return storageErrorOf(error);
}
