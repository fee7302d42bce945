import { join } from "node:path";
import { startRedis } from "@halyard/services";
import { z } from "zod";
import { median } from "../judge.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { runProgram } from "../program.ts";
import { formatTable, type Table } from "../table.ts";

interface Situation {
  readonly name: string;
  readonly members: number;
  readonly others: number;
  readonly otherMembers: number;
}

const ALONE: Situation = { name: "one channel of 100 members", members: 100, others: 0, otherMembers: 0 };
/** As many connections as `MANY`, because a process with more of them is slower at everything. */
const FEW: Situation = {
  name: "the same beside one channel of 9,900",
  members: 100,
  others: 1,
  otherMembers: 9_900,
};
const MANY: Situation = {
  name: "the same beside 99 channels of 100",
  members: 100,
  others: 99,
  otherMembers: 100,
};
const LARGE: Situation = {
  name: "one channel of 10,000 members",
  members: 10_000,
  others: 0,
  otherMembers: 0,
};
const SITUATIONS = [ALONE, FEW, MANY, LARGE] as const;

const PROGRAM = join(import.meta.dirname, "..", "servers", "presence.ts");
const JOINS = 2_500;
const cost = z.object({ cpuUs: z.number(), bytes: z.number() });
type Cost = z.infer<typeof cost>;

export const measurement: Measurement = {
  name: "presence",
  about:
    "A join and a leave in a channel with presence, two servers over Redis: CPU time beside 99 other channels over that beside one other with as many members",
  goal: { atMost: 1.2 },
  async run(effort) {
    const rounds: Map<Situation, Cost>[] = [];
    for (let round = 1; round <= effort.rounds; round++) {
      const costs = new Map<Situation, Cost>();
      for (const situation of SITUATIONS) costs.set(situation, await measure(situation, effort));
      rounds.push(costs);
      effort.onRound(round);
    }
    return describe(rounds);
  },
};

async function measure(situation: Situation, effort: Effort): Promise<Cost> {
  const { members, others, otherMembers } = situation;
  const size = isSmoke(effort) ? 0.02 : 1;
  const broker = await startRedis();
  try {
    const sizes = [members * size, others, otherMembers * size, JOINS * size].map((count) =>
      String(Math.ceil(count)),
    );
    return cost.parse(await runProgram("server", PROGRAM, broker.url, ...sizes));
  } finally {
    await broker.stop();
  }
}

function describe(rounds: readonly ReadonlyMap<Situation, Cost>[]): Finding {
  const of = (situation: Situation, figure: keyof Cost): number[] =>
    rounds.map((costs) => costs.get(situation)?.[figure] ?? Number.NaN);
  const few = of(FEW, "cpuUs");
  const figures = of(MANY, "cpuUs").map((cpuUs, round) => cpuUs / (few[round] ?? Number.NaN));
  const table: Table = [
    ["median of rounds", "CPU µs a join", "broker bytes a join", "rounds"],
    ...SITUATIONS.map((situation) => [
      situation.name,
      median(of(situation, "cpuUs")).toFixed(0),
      median(of(situation, "bytes")).toFixed(0),
      String(rounds.length),
    ]),
  ];
  return {
    figures,
    report: `${formatTable(table)}\n\nRatio of each round: ${figures.map((ratio) => ratio.toFixed(2)).join(" ")}`,
    table,
    doubts: [],
    chart: {
      title: "CPU µs of a join and a leave (shorter is better)",
      bars: SITUATIONS.map((situation) => ({
        name: situation.name,
        role: "ours",
        value: median(of(situation, "cpuUs")),
      })),
    },
    rivals: [],
  };
}
