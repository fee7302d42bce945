/** The report of a comparison: the results of each server, the ratios to ours, and reasons to distrust them. */
import { type Result, ranIn } from "./contest.ts";
import { median, pairSamples } from "./judge.ts";
import type { LoadSample } from "./load.ts";
import { canPin } from "./pinning.ts";
import { formatTable, type Table } from "./table.ts";

/** Below this the machine was busy with other work, or the load was too small. */
const MIN_SERVER_CORES = 0.8;
/** Above this the generator may have been the bottleneck. */
const MAX_GENERATOR_CORES = 0.95;

interface Column {
  readonly title: string;
  readonly digits: number;
  readonly of: (sample: LoadSample) => number | undefined;
}

const CPU: Column = { title: "CPU µs/op", digits: 2, of: (sample) => sample.cpuUsPerOperation };
const RATE: Column = { title: "ops/s", digits: 0, of: (sample) => sample.operationsPerSecond };
const P99: Column = {
  title: "p99 ms",
  digits: 1,
  of: ({ p99Us }) => (p99Us === undefined ? undefined : p99Us / 1000),
};
const SERVER_CORES: Column = { title: "server cores", digits: 2, of: (sample) => sample.serverCores };
const GENERATOR_CORES: Column = {
  title: "generator cores",
  digits: 2,
  of: (sample) => sample.generatorCores,
};

// --- printed ---

export function formatAchievements(results: readonly Result<LoadSample>[]): string {
  const columns = [RATE, CPU, P99, SERVER_CORES, GENERATOR_CORES];
  const header = ["median of rounds", ...columns.map(({ title }) => title)];
  const rows = results.map((result) => [result.name, ...formatColumns(result, columns)]);
  return formatTable([header, ...rows]);
}

/** Compares the first with each of the others. The goal refers to the second. */
export function formatRatios([ours, ...others]: readonly Result<LoadSample>[]): string {
  if (ours === undefined) return "";
  const header = [`${ours.name} against`, "CPU ratio", "rate ratio", "p99 ratio", "CPU ratio of each round"];
  const rows = others.map(({ name, samples }, index) => {
    const { cpu, rate, p99 } = pairSamples(ours.samples, samples);
    return [
      index === 0 ? `${name} (judged)` : name,
      formatMedian(cpu, 2),
      formatMedian(rate, 2),
      formatMedian(p99, 2),
      cpu.map((ratio) => ratio.toFixed(2)).join(" "),
    ];
  });
  return formatTable([header, ...rows]);
}

/** One sentence each. */
export function describeDoubts(samples: readonly LoadSample[]): string[] {
  const starved = samples.filter(({ serverCores }) => serverCores < MIN_SERVER_CORES).length;
  const limited = samples.filter(({ generatorCores }) => generatorCores > MAX_GENERATOR_CORES).length;
  const doubts: string[] = [];
  if (!canPin()) doubts.push("Not pinned: taskset is missing, or the machine has fewer than two cores.");
  if (starved > 0) {
    doubts.push(
      `In ${starved} of ${samples.length} runs the server got less than ${MIN_SERVER_CORES} of a core.`,
    );
  }
  if (limited > 0) {
    doubts.push(
      `In ${limited} of ${samples.length} runs the generator was at its limit: rates may be understated.`,
    );
  }
  return doubts;
}

// --- on the page ---

/** Both in one table. The ratios are ours against each of the others. */
export function tabulate([ours, ...others]: readonly Result<LoadSample>[]): Table {
  if (ours === undefined) return [];
  const hasLatency = ranIn(ours).some(({ p99Us }) => p99Us !== undefined);
  const columns = hasLatency ? [CPU, RATE, P99] : [CPU, RATE];
  const header = ["", ...columns.map(({ title }) => title), "CPU ratio", "rate ratio", "rounds"];
  const describe = (result: Result<LoadSample>, ratios: readonly string[]): string[] => [
    result.name,
    ...formatColumns(result, columns),
    ...ratios,
    String(ranIn(result).length),
  ];
  const rows = others.map((result) => {
    const { cpu, rate } = pairSamples(ours.samples, result.samples);
    return describe(result, [formatMedian(cpu, 2), formatMedian(rate, 2)]);
  });
  return [header, describe(ours, ["", ""]), ...rows];
}

function formatColumns(result: Result<LoadSample>, columns: readonly Column[]): string[] {
  return columns.map(({ of, digits }) => formatMedian(ranIn(result).map(of), digits));
}

function formatMedian(values: readonly (number | undefined)[], digits: number): string {
  const known = values.filter((value) => value !== undefined);
  if (known.length === 0) return "–";
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return median(known).toLocaleString("en", format);
}
