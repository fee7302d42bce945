/** A measurement that compares the cost of an operation on our server with other servers, round by round. */
import { type Contest, type Results, ranIn, runContest } from "./contest.ts";
import { type Goal, median, pairSamples } from "./judge.ts";
import type { LoadSample } from "./load.ts";
import type { Finding, Measurement } from "./measurement.ts";
import { describeDoubts, formatAchievements, formatRatios, tabulate } from "./report.ts";

export interface Comparison extends Contest<LoadSample> {
  readonly name: string;
  readonly about: string;
  readonly goal: Goal;
  /** The counted operation, as the beginning of a title: `Requests answered`. */
  readonly operations: string;
}

export function compareServers(comparison: Comparison): Measurement {
  const { name, about, goal } = comparison;
  return {
    name,
    about,
    goal,
    run: async (effort) => describe(comparison, await runContest(comparison, effort)),
  };
}

function describe({ operations }: Comparison, { ours, baseline, all }: Results<LoadSample>): Finding {
  const doubts = describeDoubts(all.flatMap(ranIn));
  return {
    figures: pairSamples(ours.samples, baseline.samples).cpu,
    report: [formatAchievements(all), formatRatios(all), doubts.join("\n")].join("\n\n").trim(),
    table: tabulate(all),
    doubts,
    chart: {
      title: `${operations} per second of the server's CPU time (longer is better)`,
      bars: all.map((result) => ({
        name: result.name,
        role: result.role,
        value: 1e6 / median(ranIn(result).map((sample) => sample.cpuUsPerOperation)),
      })),
    },
    rivals: all
      .filter(({ role }) => role === "peer")
      .map(({ name, samples }) => ({ name, lead: median(pairSamples(ours.samples, samples).cpu) })),
  };
}
