import { doubtsOf, type Engine, type EngineResult, nanosecondsOf, ranIn, runEngines } from "../evaluation.ts";
import { median, pairRounds, pairSamples } from "../judge.ts";
import type { Finding, Measurement } from "../measurement.ts";
import { formatTable, type Table } from "../table.ts";

const ENGINES: readonly Engine[] = [
  { name: "10,000 flags, 100,000 overrides", role: "ours", file: "halyard-large" },
  { name: "1,000 flags, 10,000 overrides", role: "ours", file: "halyard-small" },
  { name: "lookups alone among 10,000 and 100,000", role: "baseline", file: "maps-large" },
  { name: "lookups alone among 1,000 and 10,000", role: "baseline", file: "maps-small" },
];

/**
 * Ten times the flags and overrides need ten times the memory, and any lookup in it misses the processor's caches more
 * often. The goal is that evaluation adds nothing to that.
 */
export const measurement: Measurement = {
  name: "evaluate-large",
  about:
    "One flag for one user among 10,000 flags and 100,000 overrides: how CPU time grows from a tenth of them, over how that of the map lookups alone grows",
  goal: { atMost: 1 },
  async run(effort) {
    const [large, small, largeMaps, smallMaps] = await runEngines(ENGINES, effort);
    if (!(large && small && largeMaps && smallMaps)) throw new Error("Nothing was measured.");
    return describe([large, small, largeMaps, smallMaps]);
  },
};

function describe(results: readonly [EngineResult, EngineResult, EngineResult, EngineResult]): Finding {
  const [large, small, largeMaps, smallMaps] = results;
  const growth = pairSamples(small.samples, large.samples).cpu;
  const mapsGrowth = pairSamples(smallMaps.samples, largeMaps.samples).cpu;
  const table = tabulate(results);
  const doubts = doubtsOf([large, small]);
  const lines = [
    `Growth of an evaluation: ${formatAll(growth)} (median ${median(growth).toFixed(2)})`,
    `Growth of the lookups alone: ${formatAll(mapsGrowth)} (median ${median(mapsGrowth).toFixed(2)})`,
  ];
  return {
    figures: pairRounds(growth, mapsGrowth).map(({ our, their }) => our / their),
    report: [formatTable(table), lines.join("\n"), ...doubts].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "Evaluations per second of CPU time (longer is better)",
      bars: results.map((result) => ({
        name: result.name,
        role: result.role,
        value: 1e9 / nanosecondsOf(result),
      })),
    },
    rivals: [],
  };
}

function formatAll(ratios: readonly number[]): string {
  return ratios.map((ratio) => ratio.toFixed(2)).join(" ");
}

function tabulate(results: readonly EngineResult[]): Table {
  const facts = Object.keys(results.flatMap(ranIn)[0]?.facts ?? {});
  const rows = results.map((result) => [
    result.name,
    nanosecondsOf(result).toFixed(0),
    ...facts.map((fact) => medianOf(result, fact)),
    String(ranIn(result).length),
  ]);
  return [["median of rounds", "CPU ns", ...facts, "rounds"], ...rows];
}

function medianOf(result: EngineResult, fact: string): string {
  const values = ranIn(result).flatMap(({ facts }) => facts[fact] ?? []);
  return values.length === 0 ? "" : median(values).toFixed(2);
}
