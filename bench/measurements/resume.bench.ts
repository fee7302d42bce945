import { join } from "node:path";
import { z } from "zod";
import { median } from "../judge.ts";
import { type Effort, isSmoke, type Measurement } from "../measurement.ts";
import { canPin } from "../pinning.ts";
import { runProgram } from "../program.ts";
import { startServer } from "../server.ts";
import { formatTable, type Table } from "../table.ts";

const CHANNELS = 300;
const KEPT = 100;
const FOLDER = join(import.meta.dirname, "..", "servers");
const result = z.object({
  deliveries: z.number().positive(),
  wallUs: z.number().positive(),
  cpuUs: z.number().nonnegative(),
});
const output = z.object({ replayed: result, fannedOut: result });
type Round = z.infer<typeof output>;

/** The CPU time alone would hide a replay that waits, so the rates are compared. */
export const measurement: Measurement = {
  name: "resume",
  about:
    "10,000 connections join 300 channels at positions 0 to 100 messages behind: messages replayed per second, over fan-out with one message under way in the same run",
  goal: { atLeast: 0.5 },
  async run(effort) {
    const rounds: Round[] = [];
    while (rounds.length < effort.rounds) {
      rounds.push(await measure(effort));
      effort.onRound(rounds.length);
    }
    const rateOf = ({ deliveries, wallUs }: z.infer<typeof result>): number => (deliveries / wallUs) * 1e6;
    const row = (name: string, part: keyof Round): string[] => [
      name,
      median(rounds.map((round) => rateOf(round[part]))).toFixed(0),
      median(rounds.map((round) => round[part].cpuUs / round[part].deliveries)).toFixed(2),
      String(rounds.length),
    ];
    const table: Table = [
      ["median of rounds", "messages/s", "CPU µs", "rounds"],
      row("replay", "replayed"),
      row("fan-out, one message under way", "fannedOut"),
    ];
    const doubts = canPin()
      ? []
      : ["Not pinned: taskset is missing, or the machine has fewer than two cores."];
    const figures = rounds.map(({ replayed, fannedOut }) => rateOf(replayed) / rateOf(fannedOut));
    return {
      figures,
      report: [
        formatTable(table),
        `Rate ratios: ${figures.map((ratio) => ratio.toFixed(2)).join(" ")}`,
        ...doubts,
      ].join("\n\n"),
      table,
      doubts,
      chart: {
        title: "Messages delivered per second (longer is better)",
        bars: [
          { name: "replay", role: "ours", value: median(rounds.map(({ replayed }) => rateOf(replayed))) },
          {
            name: "fan-out, one message under way",
            role: "baseline",
            value: median(rounds.map(({ fannedOut }) => rateOf(fannedOut))),
          },
        ],
      },
      rivals: [],
    };
  },
};

async function measure(effort: Effort): Promise<Round> {
  const connections = isSmoke(effort) ? 1_000 : 10_000;
  const args = [join(FOLDER, "node-resume.ts"), String(CHANNELS), String(KEPT)];
  const server = await startServer({ command: process.execPath, args });
  try {
    const numbers = [server.port, server.pid, connections, CHANNELS, KEPT, effort.measuredSeconds].map(
      String,
    );
    return output.parse(await runProgram("generator", join(FOLDER, "node-resume-clients.ts"), ...numbers));
  } finally {
    await server.kill();
  }
}
