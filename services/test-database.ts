// The part of a shared server that belongs to one test file.
import { randomBytes } from "node:crypto";

export interface TestDatabase {
  readonly url: string;
  /** Removes the database, even when idle connections to it are open. */
  drop(): Promise<void>;
}

/** A name prefix on a shared server that belongs to one test file. */
export interface TestPrefix {
  readonly url: string;
  /** Letters, digits and underscores. Put it and a separator before every key or subject. */
  readonly prefix: string;
}

/** A name that no other test file uses, valid for databases, keys and subjects without quotes. */
export function uniqueName(): string {
  return `halyard_test_${randomBytes(8).toString("hex")}`;
}
