import { doubtsOf, type Engine, type EngineResult, nanosecondsOf, ranIn, runEngines } from "../evaluation.ts";
import { median, pairSamples } from "../judge.ts";
import type { Finding, Measurement } from "../measurement.ts";
import { formatTable, type Table } from "../table.ts";

const OURS: Engine = { name: "Halyard", role: "ours", file: "halyard" };
const OTHERS: readonly (Engine & { readonly goal: number })[] = [
  { name: "closures by hand", role: "baseline", file: "closures", goal: 1.5 },
  { name: "flagd", role: "peer", file: "flagd", goal: 3 },
  { name: "GrowthBook", role: "peer", file: "growthbook", goal: 6 },
  { name: "LaunchDarkly", role: "peer", file: "launchdarkly", goal: 6 },
  { name: "Unleash", role: "peer", file: "unleash", goal: 6 },
];

/** Each engine has its own goal. The worst of them decides a round. */
export const measurement: Measurement = {
  name: "evaluate",
  about: "One flag for one user in process, 100 flags and 10,000 users; CPU time of the others over ours",
  goal: { atLeast: 1, unit: "of the goals" },
  async run(effort) {
    const [ours, ...others] = await runEngines([OURS, ...OTHERS], effort);
    if (ours === undefined) throw new Error("Nothing was measured.");
    return describe(ours, others);
  },
};

function describe(ours: EngineResult, others: readonly EngineResult[]): Finding {
  const ratios = others.map((other) => ({ other, cpu: pairSamples(ours.samples, other.samples).cpu }));
  const table = tabulate(ours, ratios);
  const doubts = doubtsOf([ours, ...others]);
  return {
    figures: ours.samples.map((_, round) =>
      Math.min(...ratios.flatMap(({ other, cpu }) => shareOfGoal(cpu[round], other.goal))),
    ),
    report: [formatTable(table), ...doubts].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "Evaluations per second of CPU time (longer is better)",
      bars: [ours, ...others].map((result) => ({
        name: result.name,
        role: result.role,
        value: 1e9 / nanosecondsOf(result),
      })),
    },
    rivals: ratios
      .filter(({ other }) => other.role === "peer")
      .map(({ other, cpu }) => ({ name: other.name, lead: median(cpu) })),
  };
}

/** Peers run in the first rounds only, so the index of a ratio is its round. */
function shareOfGoal(ratio: number | undefined, goal: number | undefined): number[] {
  return ratio === undefined || goal === undefined ? [] : [ratio / goal];
}

function tabulate(
  ours: EngineResult,
  ratios: readonly { readonly other: EngineResult; readonly cpu: readonly number[] }[],
): Table {
  const header = ["median of rounds", "CPU ns", "evaluations per CPU s", "CPU ratio", "goal", "", "rounds"];
  const cells = (result: EngineResult): string[] => [
    result.name,
    nanosecondsOf(result).toFixed(0),
    Math.round(1e9 / nanosecondsOf(result)).toLocaleString("en"),
  ];
  const rows = ratios.map(({ other, cpu }) => {
    const ratio = median(cpu);
    const { goal = 1 } = other;
    const verdict = ratio >= goal ? "ok" : "short";
    return [...cells(other), ratio.toFixed(2), `≥ ${goal}`, verdict, String(ranIn(other).length)];
  });
  return [header, [...cells(ours), "", "", "", String(ranIn(ours).length)], ...rows];
}
