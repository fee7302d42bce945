import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { type PrivateServer, type Program, startNats, startRedis } from "@halyard/services";
import { z } from "zod";
import { median, planRounds } from "../judge.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { canPin } from "../pinning.ts";
import { readCpuUs } from "../process-cpu.ts";
import { startServer } from "../server.ts";
import { formatTable, type Table } from "../table.ts";

interface Situation {
  readonly name: string;
  readonly broker: "redis" | "nats";
  readonly topics: number;
}

/** CPU time in µs: of a publish, of a message in a process that subscribes, and of the same message in the broker. */
interface Costs {
  readonly publishUs: number;
  readonly receiveUs: number;
  readonly brokerUs: number;
}

const FEW = 100;
const MANY = 10_000;
const PROGRAM = join(import.meta.dirname, "..", "servers", "broker-member.ts");
/** Messages that are still under way when a window ends are in the next one. */
const MIN_RECEIVED = 0.9;

const BROKERS = [
  { broker: "redis", name: "Redis" },
  { broker: "nats", name: "NATS" },
] as const;
const SITUATIONS: readonly Situation[] = BROKERS.flatMap(({ broker, name }) =>
  [MANY, FEW].map((topics) => ({
    name: `${name}, ${topics.toLocaleString("en")} topics`,
    broker,
    topics,
  })),
);

/** The tables of the scale page multiply these costs, so a message must cost the same whatever the number of topics. */
export const measurement: Measurement = {
  name: "broker-costs",
  about:
    "A message over a broker from one process to another without connections, 8 under way: CPU time in both processes with 10,000 topics over that with 100",
  goal: { atMost: 1.5 },
  async run(effort) {
    const rounds: Map<Situation, Costs>[] = [];
    for (const planned of planRounds(SITUATIONS, [], effort.rounds)) {
      const costs = new Map<Situation, Costs>();
      for (const situation of planned) costs.set(situation, await measure(situation, effort));
      rounds.push(costs);
      effort.onRound(rounds.length);
    }
    return describe(rounds);
  },
};

async function measure({ broker, topics }: Situation, effort: Effort): Promise<Costs> {
  // Without persistence, as a pub/sub broker is usually run.
  const server: PrivateServer = await (broker === "redis" ? startRedis({ appendonly: "no" }) : startNats());
  const programs: Program[] = [];
  const count = String(isSmoke(effort) ? Math.min(topics, FEW) : topics);
  try {
    for (const role of ["receive", "publish"]) {
      const args = [PROGRAM, role, count, broker, server.url];
      programs.push(await startServer({ command: process.execPath, args }));
    }
    await runBoth(programs, effort.warmSeconds);
    const before = readCpuUs(server.pid) ?? Number.NaN;
    const [received, published] = await runBoth(programs, effort.measuredSeconds);
    const brokerUs = (readCpuUs(server.pid) ?? Number.NaN) - before;
    if (received === undefined || published === undefined) throw new Error("A process has not run.");
    if (received.operations < published.operations * MIN_RECEIVED) {
      throw new Error(`${received.operations} of ${published.operations} messages were received.`);
    }
    return {
      publishUs: published.cpuUs / published.operations,
      receiveUs: received.cpuUs / received.operations,
      brokerUs: brokerUs / published.operations,
    };
  } finally {
    await Promise.all(programs.map((program) => program.kill()));
    await server.stop();
  }
}

const outcome = z.object({ operations: z.number().positive(), cpuUs: z.number().positive() });

function runBoth(programs: readonly Program[], seconds: number): Promise<z.infer<typeof outcome>[]> {
  return Promise.all(
    programs.map(async ({ port }) => {
      const response = await fetch(`http://127.0.0.1:${port}/?seconds=${seconds}`);
      return outcome.parse(await response.json());
    }),
  );
}

/** CPU time is only comparable on a machine that has little else to do. */
const MAX_LOAD_PER_CORE = 3;

function describeDoubts(): string[] {
  const [load = 0] = loadavg();
  const cores = availableParallelism();
  return [
    ...(canPin() ? [] : ["Not pinned: taskset is missing, or the machine has fewer than two cores."]),
    ...(load / cores > MAX_LOAD_PER_CORE
      ? [
          `The load average was ${load.toFixed(0)} on ${cores} cores: CPU times may be several times too high.`,
        ]
      : []),
  ];
}

function describe(rounds: readonly ReadonlyMap<Situation, Costs>[]): Finding {
  const of = (situation: Situation, figure: keyof Costs): number[] =>
    rounds.map((costs) => costs.get(situation)?.[figure] ?? Number.NaN);
  const both = (costs: ReadonlyMap<Situation, Costs>, broker: string, topics: number): number => {
    const situation = SITUATIONS.find((one) => one.broker === broker && one.topics === topics);
    const found = situation && costs.get(situation);
    return found === undefined ? Number.NaN : found.publishUs + found.receiveUs;
  };
  const figures = rounds.map((costs) =>
    Math.max(...BROKERS.map(({ broker }) => both(costs, broker, MANY) / both(costs, broker, FEW))),
  );
  const table: Table = [
    [
      "median of rounds, CPU µs",
      "a publish",
      "a message, in each process",
      "a message, in the broker",
      "rounds",
    ],
    ...SITUATIONS.map((situation) => [
      situation.name,
      median(of(situation, "publishUs")).toFixed(1),
      median(of(situation, "receiveUs")).toFixed(1),
      median(of(situation, "brokerUs")).toFixed(1),
      String(rounds.length),
    ]),
  ];
  const doubts = describeDoubts();
  return {
    figures,
    report: [
      formatTable(table),
      `Worst ratio of each round: ${figures.map((ratio) => ratio.toFixed(2)).join(" ")}`,
      ...doubts,
    ].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "CPU µs of a publish over a broker (shorter is better)",
      bars: SITUATIONS.map((situation) => ({
        name: situation.name,
        role: "ours",
        value: median(of(situation, "publishUs")),
      })),
    },
    rivals: [],
  };
}
