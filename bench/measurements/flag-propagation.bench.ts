import { z } from "zod";
import { median } from "../judge.ts";
import { pinningDoubts, RUNTIMES, type Runtime, runLiveFlags } from "../live-flags.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { formatTable, type Table } from "../table.ts";

/** For a boolean flag with a key of 20 characters. */
const MAX_FRAME_BYTES = 150;
const sample = z.object({ wallMs: z.number(), cpuMs: z.number(), p50Ms: z.number(), p99Ms: z.number() });
const output = z.object({
  ours: z.array(sample).min(1),
  bare: z.array(sample).min(1),
  frameBytes: z.number(),
  strays: z.number(),
});
type Output = z.infer<typeof output>;
type Round = ReadonlyMap<Runtime, Output>;

export const measurement: Measurement = {
  name: "flag-propagation",
  about:
    "A kill switch with 10,000 connected clients of one process, on Node and Bun: time from the commit to the last frame written, over the bare engine sending the same frames to the same sockets",
  goal: { atMost: 1.5 },
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
  const result = output.parse(
    await runLiveFlags(runtime, {
      connections: isSmoke(effort) ? 220 : 11_000,
      unaffected: isSmoke(effort) ? 20 : 1_000,
      otherFlags: isSmoke(effort) ? 10 : 100,
      segmentFlags: 0,
      warmSeconds: effort.warmSeconds,
      measuredSeconds: effort.measuredSeconds,
      change: "kill",
    }),
  );
  const { frameBytes, strays } = result;
  if (strays > 0)
    throw new Error(`${runtime}: ${strays} frames went to clients that the change did not concern.`);
  if (frameBytes > MAX_FRAME_BYTES)
    throw new Error(`${runtime}: a frame has ${frameBytes} bytes, more than ${MAX_FRAME_BYTES}.`);
  return result;
}

type Part = "ours" | "bare";
type Figure = keyof Output["ours"][number];

function describe(rounds: readonly Round[]): Finding {
  const outputs = (runtime: Runtime): Output[] => rounds.flatMap((round) => round.get(runtime) ?? []);
  const typical = (result: Output, part: Part, figure: Figure): number =>
    median(result[part].map((one) => one[figure]));
  const of = (runtime: Runtime, part: Part, figure: Figure): number =>
    median(outputs(runtime).map((result) => typical(result, part, figure)));
  // Each change is compared with the frames that followed it, because the machine is not equally fast all the time.
  const ratioOf = ({ ours, bare }: Output): number =>
    median(ours.map(({ wallMs }, at) => wallMs / (bare[at]?.wallMs ?? Number.NaN)));
  // The slower runtime decides.
  const figures = rounds.map((round) => Math.max(...Array.from(round.values(), ratioOf)));
  const row = (name: string, runtime: Runtime, part: Part): string[] => [
    name,
    ...(["wallMs", "cpuMs", "p50Ms", "p99Ms"] as const).map((figure) => of(runtime, part, figure).toFixed(1)),
    part === "ours" ? median(outputs(runtime).map(ratioOf)).toFixed(2) : "1.00",
    part === "ours" ? String(Math.max(...outputs(runtime).map(({ frameBytes }) => frameBytes))) : "",
  ];
  const table: Table = [
    ["median of rounds", "last frame ms", "CPU ms", "client p50 ms", "client p99 ms", "ratio", "frame bytes"],
    ...RUNTIMES.flatMap((runtime) => [
      row(`live flags on ${runtime}`, runtime, "ours"),
      row(`the same frames, ${runtime === "Node" ? "ws" : "Bun"} alone`, runtime, "bare"),
    ]),
  ];
  const doubts = pinningDoubts();
  return {
    figures,
    report: [
      formatTable(table),
      `Ratio of each round: ${figures.map((ratio) => ratio.toFixed(2)).join(" ")}`,
      ...doubts,
    ].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "Milliseconds from the commit to the last of 10,000 frames (shorter is better)",
      bars: RUNTIMES.flatMap((runtime) => [
        { name: `live flags on ${runtime}`, role: "ours" as const, value: of(runtime, "ours", "wallMs") },
        { name: `${runtime} alone`, role: "baseline" as const, value: of(runtime, "bare", "wallMs") },
      ]),
    },
    rivals: [],
  };
}
