/** Measures the memory of idle connections, minus the memory that the bare engine needs for them. */
import { type Contest, type Result, type Results, ranIn, runContest } from "./contest.ts";
import { type Goal, median, pairRounds } from "./judge.ts";
import type { Footprint } from "./load.ts";
import type { Finding, Measurement } from "./measurement.ts";
import { formatTable, type Table } from "./table.ts";

export interface FootprintComparison extends Contest<Footprint> {
  readonly name: string;
  readonly about: string;
  readonly goal: Goal;
}

export function compareFootprints(comparison: FootprintComparison): Measurement {
  const { name, about, goal } = comparison;
  return { name, about, goal, run: async (effort) => describe(await runContest(comparison, effort)) };
}

function describe({ ours, baseline, all }: Results<Footprint>): Finding {
  const figures = pairRounds(ours.samples, baseline.samples).map(
    ({ our, their }) => our.kbPerConnection - their.kbPerConnection,
  );
  const table = tabulate(all, baseline);
  const rounds = figures.map((kb) => kb.toFixed(2)).join(" ");
  return {
    figures,
    report: `${formatTable(table)}\n\n${ours.name} over ${baseline.name} in KB, each round: ${rounds}`,
    table,
    doubts: [],
    chart: {
      title: "KB of memory per connection (shorter is better)",
      bars: all.map((result) => ({
        name: result.name,
        role: result.role,
        value: medianOf(result, "kbPerConnection"),
      })),
    },
    rivals: [],
  };
}

function tabulate(all: readonly Result<Footprint>[], baseline: Result<Footprint>): Table {
  const header = [
    "median of rounds",
    "KB a connection",
    `over ${baseline.name}`,
    "MB without connections",
    "rounds",
  ];
  const rows = all.map((result) => {
    const over = pairRounds(result.samples, baseline.samples).map(
      ({ our, their }) => our.kbPerConnection - their.kbPerConnection,
    );
    return [
      result.name,
      medianOf(result, "kbPerConnection").toFixed(2),
      result === baseline ? "–" : median(over).toFixed(2),
      (medianOf(result, "emptyKb") / 1024).toFixed(0),
      String(ranIn(result).length),
    ];
  });
  return [header, ...rows];
}

function medianOf(result: Result<Footprint>, figure: keyof Footprint): number {
  return median(ranIn(result).map((footprint) => footprint[figure]));
}
