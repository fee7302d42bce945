import { z } from "zod";
import { median } from "../judge.ts";
import { pinningDoubts, RUNTIMES, type Runtime, runLiveFlags } from "../live-flags.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { formatTable, type Table } from "../table.ts";

const output = z.object({ lagsMs: z.array(z.number()).min(1), tookMs: z.array(z.number()).min(1) });
type Output = z.infer<typeof output>;
type Round = ReadonlyMap<Runtime, Output>;

export const measurement: Measurement = {
  name: "flag-segment",
  about:
    "A segment that 1,000 flags use changes while 1,000 clients are connected to one process, on Node and Bun: the longest time in which no other work of the process could run",
  goal: { atMost: 50, unit: "ms" },
  async run(effort) {
    const rounds: Round[] = [];
    while (rounds.length < effort.rounds) {
      const round = new Map<Runtime, Output>();
      for (const runtime of RUNTIMES) round.set(runtime, await measure(runtime, effort));
      rounds.push(round);
      effort.onRound(rounds.length);
    }
    return describe(rounds);
  },
};

async function measure(runtime: Runtime, effort: Effort): Promise<Output> {
  const result = await runLiveFlags(runtime, {
    connections: isSmoke(effort) ? 20 : 1_000,
    unaffected: 0,
    otherFlags: 0,
    segmentFlags: isSmoke(effort) ? 20 : 1_000,
    // The first change after a start counts as well.
    warmSeconds: 0,
    measuredSeconds: effort.measuredSeconds,
    change: "segment",
  });
  return output.parse(result);
}

function describe(rounds: readonly Round[]): Finding {
  const of = (runtime: Runtime, part: keyof Output): number[] =>
    rounds.map((round) => median(round.get(runtime)?.[part] ?? []));
  const lags = RUNTIMES.map((runtime) => of(runtime, "lagsMs"));
  const figures = rounds.map((_, at) => Math.max(...lags.map((ofRuntime) => ofRuntime[at] ?? Number.NaN)));
  const table: Table = [
    ["median of rounds", "longest lag ms", "all evaluated after ms", "rounds"],
    ...RUNTIMES.map((runtime) => [
      `live flags on ${runtime}`,
      median(of(runtime, "lagsMs")).toFixed(1),
      median(of(runtime, "tookMs")).toFixed(0),
      String(rounds.length),
    ]),
  ];
  const doubts = pinningDoubts();
  return {
    figures,
    report: [formatTable(table), ...doubts].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "Longest lag of the event loop, in ms (shorter is better)",
      bars: RUNTIMES.map((runtime) => ({
        name: `live flags on ${runtime}`,
        role: "ours" as const,
        value: median(of(runtime, "lagsMs")),
      })),
    },
    rivals: [],
  };
}
