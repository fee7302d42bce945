/** Recognizes unique-constraint violations in the errors of all supported drivers. */

/** PostgreSQL, MySQL and MariaDB, Prisma, MongoDB, Bun's and other SQLite drivers. */
const CODES: ReadonlySet<unknown> = new Set([
  "23505",
  "ER_DUP_ENTRY",
  "P2002",
  11000,
  "SQLITE_CONSTRAINT_UNIQUE",
  "SQLITE_CONSTRAINT_PRIMARYKEY",
]);

/** `node:sqlite` has one code for all errors, and the number of SQLite in `errcode`. */
const SQLITE_NUMBERS: ReadonlySet<unknown> = new Set([2067, 1555]);

export function isUniqueViolation(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if ("code" in cause && CODES.has(cause.code)) return true;
    if ("errcode" in cause && SQLITE_NUMBERS.has(cause.errcode)) return true;
  }
  return false;
}
