/** Response times without other load, by percentile, against limits. */
import { z } from "zod";
import { median } from "../judge.ts";
import type { Effort, Finding, Measurement } from "../measurement.ts";
import { canPin } from "../pinning.ts";
import { nodeServer, type Server, type Target, withServer } from "../server.ts";
import { keys, MANY_RULES_KEY } from "../servers/flags/flags.ts";
import { formatTable, type Table } from "../table.ts";
import { httpLoad } from "./load.ts";
import { createWorld, type Exchange, exchangeOf, type World, writeExchanges } from "./world.ts";

/** In milliseconds. */
interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

interface Situation {
  readonly name: string;
  readonly limits: Percentiles;
  server(world: World): Server;
  measure(target: Target, effort: Effort, world: World): Promise<Percentiles>;
}

const PEOPLE = 100;
const BATCH = 10;

function overHttp(name: string, limits: Percentiles, exchanges: (world: World) => Exchange[]): Situation {
  return {
    name,
    limits,
    server: ({ databaseUrl }) =>
      nodeServer(name, import.meta.resolve("../servers/node-flags.ts"), databaseUrl, "raw"),
    async measure(target, { warmSeconds, measuredSeconds }, world) {
      const requests = writeExchanges("latency", exchanges(world));
      const seconds = Math.max(1, measuredSeconds);
      const load = { requests, connections: 1, laps: 1, warmSeconds, measuredSeconds: seconds };
      const { p50Us, p95Us, p99Us } = await httpLoad(target, load);
      return { p50: p50Us / 1000, p95: p95Us / 1000, p99: p99Us / 1000 };
    },
  };
}

const inside = z.object({ p50Us: z.number(), p95Us: z.number(), p99Us: z.number() });

const SITUATIONS: readonly Situation[] = [
  overHttp("single evaluation over HTTP", { p50: 2, p95: 10, p99: 50 }, ({ people }) =>
    people.map((person, index) => {
      const body = { flagKey: keys[index % keys.length], context: { attributes: person.attributes } };
      return exchangeOf(person, "/feature-flags/evaluate", body, '"value":');
    }),
  ),
  overHttp("batch of ten flags over HTTP", { p50: 5, p95: 20, p99: 100 }, ({ people }) =>
    people.map((person, index) => {
      const flagKeys = Array.from({ length: BATCH }, (_, at) => keys[(index + at) % keys.length]);
      const body = { flagKeys, context: { attributes: person.attributes } };
      return exchangeOf(person, "/feature-flags/evaluate-batch", body, `"${flagKeys[BATCH - 1]}":`);
    }),
  ),
  {
    name: "cache hit: the method, in process",
    limits: { p50: 0.1, p95: 0.5, p99: 1 },
    server: ({ databaseUrl }) =>
      nodeServer("server code", import.meta.resolve("../servers/flags-calls.ts"), databaseUrl),
    async measure({ port }, { warmSeconds, measuredSeconds }) {
      const run = async (seconds: number): Promise<z.infer<typeof inside>> =>
        inside.parse(await (await fetch(`http://127.0.0.1:${port}/?seconds=${seconds}`)).json());
      await run(warmSeconds);
      const { p50Us, p95Us, p99Us } = await run(measuredSeconds);
      return { p50: p50Us / 1000, p95: p95Us / 1000, p99: p99Us / 1000 };
    },
  },
  overHttp("100 rules, the last matches, over HTTP", { p50: 1, p95: 5, p99: 20 }, ({ people }) =>
    people.map((person) => {
      const body = { flagKey: MANY_RULES_KEY, context: { attributes: person.attributes } };
      return exchangeOf(person, "/feature-flags/evaluate", body, '"reason":"rule_match"');
    }),
  ),
];

export function measureLatency(name: string, about: string): Measurement {
  return {
    name,
    about,
    goal: { atLeast: 1, unit: "of the limits" },
    async run(effort) {
      const world = await createWorld(PEOPLE, { hasManyRules: true });
      const rounds: Percentiles[][] = [];
      try {
        for (let round = 0; round < effort.rounds; round++) {
          const found: Percentiles[] = [];
          for (const { server, measure } of SITUATIONS) {
            found.push(await withServer(server(world), (target) => measure(target, effort, world)));
          }
          rounds.push(found);
          effort.onRound(rounds.length);
        }
      } finally {
        await world.close();
      }
      return describe(rounds);
    },
  };
}

const NAMES = ["p50", "p95", "p99"] as const;

function describe(rounds: readonly (readonly Percentiles[])[]): Finding {
  const table: Table = [
    ["median of rounds, ms", ...NAMES.flatMap((name) => [name, "limit"])],
    ...SITUATIONS.map(({ name, limits }, index) => [
      name,
      ...NAMES.flatMap((one) => [medianAt(rounds, index, one).toFixed(3), String(limits[one])]),
    ]),
  ];
  const doubts = canPin() ? [] : ["Not pinned: taskset is missing, or the machine has fewer than two cores."];
  return {
    figures: rounds.map((found) =>
      Math.min(
        ...found.flatMap((measured, index) =>
          NAMES.map((one) => (SITUATIONS[index]?.limits[one] ?? 0) / measured[one]),
        ),
      ),
    ),
    report: [formatTable(table), ...doubts].join("\n\n"),
    table,
    doubts,
    chart: {
      title: "Answers per second of waiting, by the median (longer is better)",
      bars: SITUATIONS.map(({ name }, index) => ({
        name,
        role: "ours",
        value: 1000 / medianAt(rounds, index, "p50"),
      })),
    },
    rivals: [],
  };
}

function medianAt(
  rounds: readonly (readonly Percentiles[])[],
  index: number,
  name: (typeof NAMES)[number],
): number {
  return median(rounds.flatMap((found) => found[index]?.[name] ?? []));
}
