/** What a measurement is, and which there are: every file in `measurements/` exports one. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Chart } from "./chart.ts";
import type { Goal } from "./judge.ts";
import type { Table } from "./table.ts";

export interface Measurement {
  readonly name: string;
  /** One line: what is done, to what. */
  readonly about: string;
  readonly goal: Goal;
  run(effort: Effort): Promise<Finding>;
}

/** How long to measure. */
export interface Effort {
  readonly rounds: number;
  readonly warmSeconds: number;
  readonly measuredSeconds: number;
  /** Told after each round. */
  readonly onRound: (round: number) => void;
}

export interface Finding {
  /** One per round; the goal is about their median. */
  readonly figures: readonly number[];
  /** The tables, ready to be printed. */
  readonly report: string;
  /** The same for the page, without what is of interest only while measuring. */
  readonly table: Table;
  /** What speaks against trusting the figures. */
  readonly doubts: readonly string[];
  readonly chart: Chart;
  /** Other libraries we mean to be ahead of. */
  readonly rivals: readonly Rival[];
}

export interface Rival {
  readonly name: string;
  /** CPU time it needs for an operation, divided by what ours needs: above 1 ours is ahead. */
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
    throw new Error(`measurements/${file} exports no "measurement". Export one, or move the file elsewhere.`);
  }
  return module.measurement;
}
