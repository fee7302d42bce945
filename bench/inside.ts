/** Compares our engine with itself: the cost of an evaluation in one situation relative to another. */
import { doubtsOf, type Engine, type EngineResult, nanosecondsOf, ranIn, runEngines } from "./evaluation.ts";
import { type Goal, median, pairSamples } from "./judge.ts";
import type { Finding, Measurement } from "./measurement.ts";
import { formatTable, type Table } from "./table.ts";

export interface Inside {
  readonly name: string;
  readonly about: string;
  readonly goal: Goal;
  /** The figure is its CPU time per evaluation divided by that of `usual`. */
  readonly situation: Omit<Engine, "role">;
  readonly usual: Omit<Engine, "role">;
}

export function compareSituations({ name, about, goal, situation, usual }: Inside): Measurement {
  return {
    name,
    about,
    goal,
    async run(effort) {
      const [first, second] = await runEngines(
        [
          { ...situation, role: "ours" },
          { ...usual, role: "baseline" },
        ],
        effort,
      );
      if (first === undefined || second === undefined) throw new Error("Nothing was measured.");
      return describe(first, second);
    },
  };
}

function describe(situation: EngineResult, usual: EngineResult): Finding {
  const figures = pairSamples(usual.samples, situation.samples).cpu;
  const table = tabulate([situation, usual]);
  const doubts = doubtsOf([usual]);
  const rounds = figures.map((ratio) => ratio.toFixed(2)).join(" ");
  return {
    figures,
    report: [formatTable(table), `Ratio of each round: ${rounds}`, ...doubts].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "Evaluations per second of CPU time (longer is better)",
      bars: [situation, usual].map((result) => ({
        name: result.name,
        role: result.role,
        value: 1e9 / nanosecondsOf(result),
      })),
    },
    rivals: [],
  };
}

function tabulate(results: readonly EngineResult[]): Table {
  const facts = [
    ...new Set(results.flatMap((result) => ranIn(result).flatMap(({ facts }) => Object.keys(facts)))),
  ];
  const rows = results.map((result) => [
    result.name,
    nanosecondsOf(result).toFixed(0),
    ...facts.map((fact) =>
      median(ranIn(result).map((sample) => sample.facts[fact] ?? Number.NaN)).toFixed(2),
    ),
    String(ranIn(result).length),
  ]);
  return [["median of rounds", "CPU ns a flag", ...facts, "rounds"], ...rows];
}
