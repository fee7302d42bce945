// What belongs to one test file alone on a server that all share.
import { randomBytes } from "node:crypto";

export interface TestDatabase {
  readonly url: string;
  /** Removes the database, even when idle connections to it are left open. */
  drop(): Promise<void>;
}

/** A part of the names on a shared server that belongs to one test file. */
export interface TestPrefix {
  readonly url: string;
  /** Letters, digits and underscores; put it, and a separator of your choice, before every key or subject. */
  readonly prefix: string;
}

/** A name that no other test file uses, fit for databases, keys and subjects without quotes. */
export function uniqueName(): string {
  return `halyard_test_${randomBytes(8).toString("hex")}`;
}
