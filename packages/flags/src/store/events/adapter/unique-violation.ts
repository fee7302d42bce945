/** Recognizes unique-constraint violations in the errors of all supported drivers. */

import { causesOf } from "../../causes.ts";

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
  return causesOf(error).some(({ code, errcode }) => CODES.has(code) || SQLITE_NUMBERS.has(errcode));
}
