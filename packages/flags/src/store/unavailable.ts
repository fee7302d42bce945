/** Recognizes the errors of a database that cannot be used for the moment, in the words of each driver. */
import { FeatureFlagError } from "../model/errors.ts";
import { causesOf, type DriverError } from "./causes.ts";
import { missingTable } from "./missing-table.ts";

const RETRY_SECONDS = 5;

/** A server or a transaction that only reads. */
const READ_ONLY =
  /^(25006|ER_OPTION_PREVENTS_STATEMENT|ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|ER_READ_ONLY_MODE|SQLITE_READONLY)$/;
/** No connection, none left, a server that starts or stops, and a wait for a lock that was too long. */
const UNAVAILABLE =
  /^(08...|53[34]00|55000|55P03|25P03|57P0[1-5]|E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NOTFOUND|AI_AGAIN)|PROTOCOL_CONNECTION_LOST|ER_CON_COUNT_ERROR|ER_TOO_MANY_USER_CONNECTIONS|ER_LOCK_WAIT_TIMEOUT)$/;
/** Errors of `pg` that have no code. */
const MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|PostgreSQL did not answer in time)/;

/** A connection that was open and broke. */
const BROKEN = /^(08...|57P0[1-5]|E(CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH)|PROTOCOL_CONNECTION_LOST)$/;

const UNKNOWN_OUTCOME =
  "The connection to the database broke during the commit, so the change may or may not be stored. Read it, and repeat the change if it is missing.";

/** The 500 of a commit whose answer did not arrive. */
export function unknownOutcome(cause: unknown): FeatureFlagError {
  return new FeatureFlagError("STORAGE_ERROR", UNKNOWN_OUTCOME, { cause });
}

/** The error of a commit that failed with `error`. If the connection broke, the change may be stored. */
export function commitError(error: unknown): unknown {
  const isLost = ({ code, message }: DriverError) => BROKEN.test(String(code)) || MESSAGES.test(message);
  if (error instanceof FeatureFlagError || !causesOf(error).some(isLost)) return error;
  return unknownOutcome(error);
}

/** Whether the database refuses all writes. */
export function refusesWrites(error: unknown): boolean {
  return causesOf(error).some(({ code }) => READ_ONLY.test(String(code)));
}

/** The 503 of a request that may succeed when it is repeated. Nothing was changed. */
export function tryLater(message: string, cause: unknown): FeatureFlagError {
  return new FeatureFlagError("STORAGE_ERROR", message, {
    status: 503,
    details: { retryAfter: RETRY_SECONDS },
    cause,
    advice: "Check that the database is up, has free connections and accepts writes.",
  });
}

/** Wraps an error of the database as STORAGE_ERROR. */
export function storageError(error: unknown): FeatureFlagError {
  if (error instanceof FeatureFlagError) return error;
  const isTemporary = ({ code, message }: DriverError) =>
    READ_ONLY.test(String(code)) || UNAVAILABLE.test(String(code)) || MESSAGES.test(message);
  if (causesOf(error).some(isTemporary)) {
    return tryLater("The database does not answer or refuses writes. Repeat the request later.", error);
  }
  return missingTable(error) ?? FeatureFlagError.wrap(error, "STORAGE_ERROR");
}
