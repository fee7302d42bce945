/** Runs flag engines on the same workload in turn, each in a fresh process, all of them once per round. */
import { join } from "node:path";
import { z } from "zod";
import type { Role } from "./chart.ts";
import { median, planRounds, type Sample } from "./judge.ts";
import type { Effort } from "./measurement.ts";
import { canPin } from "./pinning.ts";
import { runProgram } from "./program.ts";

export interface Engine {
  readonly name: string;
  readonly role: Role;
  /** Its file in `engines/`, without the extension. */
  readonly file: string;
  /** The required CPU time of this engine as a multiple of Halyard's. */
  readonly goal?: number;
}

export interface EngineSample extends Sample {
  readonly onShare: number;
  readonly facts: Readonly<Record<string, number>>;
}

export interface EngineResult extends Engine {
  /** By round. Undefined where the engine did not run. */
  readonly samples: readonly (EngineSample | undefined)[];
}

const PROGRAM = join(import.meta.dirname, "engines", "measure.ts");
/** Each engine splits users by its own hash, so only the number of enabled results is comparable. */
const ON_SHARE = { atLeast: 0.19, atMost: 0.23 } as const;

const output = z.object({
  evaluations: z.number().positive(),
  cpuUs: z.number().positive(),
  wallUs: z.number().positive(),
  onShare: z.number(),
  facts: z.record(z.string(), z.number()),
});

export async function runEngines(engines: readonly Engine[], effort: Effort): Promise<EngineResult[]> {
  const [constant, peers] = [
    engines.filter(({ role }) => role !== "peer"),
    engines.filter(({ role }) => role === "peer"),
  ];
  const rounds: Map<Engine, EngineSample>[] = [];
  for (const present of planRounds(constant, peers, effort.rounds)) {
    const round = new Map<Engine, EngineSample>();
    for (const engine of present) round.set(engine, await measure(engine, effort));
    rounds.push(round);
    effort.onRound(rounds.length);
  }
  return engines.map((engine) => ({ ...engine, samples: rounds.map((round) => round.get(engine)) }));
}

async function measure({ file }: Engine, { warmSeconds, measuredSeconds }: Effort): Promise<EngineSample> {
  const times = ["--warm", String(warmSeconds / 2), "--measured", String(measuredSeconds / 2)];
  const printed = await runProgram("server", "--expose-gc", PROGRAM, file, ...times);
  const { evaluations, cpuUs, wallUs, onShare, facts } = output.parse(printed);
  return {
    cpuUsPerOperation: cpuUs / evaluations,
    operationsPerSecond: (evaluations / wallUs) * 1e6,
    onShare,
    facts,
  };
}

/** One sentence each. */
export function doubtsOf(results: readonly EngineResult[]): string[] {
  const strange = results.filter(({ samples }) =>
    samples.some(
      (sample) => sample && (sample.onShare < ON_SHARE.atLeast || sample.onShare > ON_SHARE.atMost),
    ),
  );
  return [
    ...(canPin() ? [] : ["Not pinned: taskset is missing, or the machine has fewer than two cores."]),
    ...strange.map(({ name }) => `${name} returns wrong results.`),
  ];
}

export function ranIn({ samples }: EngineResult): EngineSample[] {
  return samples.filter((sample) => sample !== undefined);
}

export function nanosecondsOf(result: EngineResult): number {
  return median(ranIn(result).map(({ cpuUsPerOperation }) => cpuUsPerOperation)) * 1_000;
}
