/** Programs that write to a fresh Redis in its own process, in several modes, all of them once per round. */
import { join } from "node:path";
import { startRedis } from "@halyard/services";
import { z } from "zod";
import { planRounds, type Sample } from "./judge.ts";
import type { Effort } from "./measurement.ts";
import { runProgram } from "./program.ts";

const FOLDER = join(import.meta.dirname, "servers");
const output = z.object({
  operations: z.number().positive(),
  cpuUs: z.number().positive(),
  wallUs: z.number().positive(),
});

/** The samples of each mode by round. `program` is a file in `servers/`. */
export async function runPublishers<Mode extends string>(
  program: string,
  modes: readonly Mode[],
  effort: Effort,
): Promise<Record<Mode, Sample[]>> {
  const samples = Object.fromEntries(modes.map((mode) => [mode, []])) as unknown as Record<Mode, Sample[]>;
  for (const [round, planned] of planRounds(modes, [], effort.rounds).entries()) {
    for (const mode of planned) samples[mode].push(await measure(join(FOLDER, program), mode, effort));
    effort.onRound(round + 1);
  }
  return samples;
}

async function measure(
  program: string,
  mode: string,
  { warmSeconds, measuredSeconds }: Effort,
): Promise<Sample> {
  // Without persistence, as a pub/sub broker is usually run.
  const broker = await startRedis({ appendonly: "no" });
  try {
    const times = ["--warm", String(warmSeconds), "--measured", String(measuredSeconds)];
    const printed = await runProgram("server", program, mode, broker.url, ...times);
    const { operations, cpuUs, wallUs } = output.parse(printed);
    return { cpuUsPerOperation: cpuUs / operations, operationsPerSecond: (operations / wallUs) * 1e6 };
  } finally {
    await broker.stop();
  }
}
