/** The type of a measurement, and the list of them: every file in `measurements/` exports one. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Chart } from "./chart.ts";
import type { Goal } from "./judge.ts";
import type { Table } from "./table.ts";

export interface Measurement {
  readonly name: string;
  /** One line: the operation and its circumstances. */
  readonly about: string;
  readonly goal: Goal;
  run(effort: Effort): Promise<Finding>;
}

/** How long to measure. */
export interface Effort {
  readonly rounds: number;
  readonly warmSeconds: number;
  readonly measuredSeconds: number;
  /** Called after each round. */
  readonly onRound: (round: number) => void;
}

/** A smoke run checks that the benchmarks work. It has no time for large numbers or for other libraries. */
export function isSmoke({ measuredSeconds }: Pick<Effort, "measuredSeconds">): boolean {
  return measuredSeconds < 1;
}

export interface Finding {
  /** One per round. The goal refers to their median. */
  readonly figures: readonly number[];
  /** The tables, ready to be printed. */
  readonly report: string;
  /** The same for the page, without columns that matter only while measuring. */
  readonly table: Table;
  /** Reasons to distrust the figures. */
  readonly doubts: readonly string[];
  readonly chart: Chart;
  /** Other libraries that we want to outperform. */
  readonly rivals: readonly Rival[];
}

export interface Rival {
  readonly name: string;
  /** Its CPU time per operation divided by ours. Above 1 ours is ahead. */
  readonly lead: number;
}

const FOLDER = join(import.meta.dirname, "measurements");

export async function loadMeasurements(): Promise<Measurement[]> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".bench.ts"));
  const measurements = await Promise.all(files.map(load));
  return measurements.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function load(file: string): Promise<Measurement> {
  const module: { readonly measurement?: Measurement } = await import(pathToFileURL(join(FOLDER, file)).href);
  if (module.measurement === undefined) {
    throw new Error(
      `measurements/${file} exports no "measurement". Export one, or move the file to another folder.`,
    );
  }
  return module.measurement;
}
