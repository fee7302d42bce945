/** A part of the comparison: what both builds do, each on its own copy of one database. */
import type { FreshDatabase } from "../../packages/flags/test/databases.ts";
import type { HostOptions } from "../../packages/flags/test/host.ts";

/** The database of a run. */
export interface Stored {
  readonly fresh: FreshDatabase<HostOptions["database"]>;
  /** Runs SQL past the application. `?` is a parameter. */
  sql(text: string, ...values: string[]): Promise<void>;
  tables(): Promise<Table[]>;
  close(): Promise<void>;
}

export interface Table {
  readonly name: string;
  readonly rows: readonly unknown[];
}

/** One thing that a build did. Records of two builds are compared in their order. */
export interface Entry {
  /** Names what was done, for people who read a difference. */
  readonly about: string;
  /** Compared after masking. */
  readonly seen?: unknown;
  /** Compared after masking, in any order. */
  readonly rows?: readonly unknown[];
}

export interface Run<Facts> {
  readonly stored: Stored;
  readonly facts: Facts;
  readonly seed: number;
  /** The number of evaluations, writes, changes or histories. */
  readonly size: number;
  record(entry: Entry): void;
}

/** `Facts` is JSON. */
export interface Part<Facts> {
  /** Whether the rows of all tables are compared at the end. */
  readonly comparesRows: boolean;
  /** Creates what both builds begin with. */
  prepare(stored: Stored, seed: number): Promise<Facts>;
  run(run: Run<Facts>): Promise<void>;
}

/** The parts, with the number of evaluations, writes, changes or histories of each. */
export const SIZES = {
  evaluations: { full: 50_000, small: 300 },
  "admin-writes": { full: 1_000, small: 150 },
  "session-changes": { full: 2_000, small: 60 },
  presence: { full: 500, small: 5 },
} as const;

export type PartName = keyof typeof SIZES;

/** What one process does. */
export interface Order {
  readonly part: PartName;
  /** A path on SQLite, a URL on PostgreSQL. */
  readonly database: string;
  /** The file that gets one JSON value in each line. */
  readonly output: string;
  readonly seed: number;
  readonly size: number;
  /** The output of the process that prepared the database. Absent for that process. */
  readonly prepared?: string;
}

/** The line of the process that prepares the database. */
export interface Prepared {
  readonly facts: unknown;
  readonly tables: readonly Table[];
}
