/** A measurement of servers over HTTP with a goal for each pair of them. The worst pair decides a round. */
import type { Role } from "../chart.ts";
import { median, pairSamples, planRounds } from "../judge.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { canPin } from "../pinning.ts";
import { type Server, withServer } from "../server.ts";
import { formatTable, type Table } from "../table.ts";
import { askSome, requireSameAnswers } from "./answers.ts";
import { type PacedSample, pacedLoad } from "./load.ts";
import { createWorld, type Exchange, type World, type WorldOptions, writeExchanges } from "./world.ts";

export interface HttpContestant {
  readonly name: string;
  readonly role: Role;
  /** Servers that are only for information run in three rounds. */
  readonly isExtra?: boolean;
  /** Why it cannot take part. The report then says so. */
  isLeftOut?(effort: Effort): boolean;
  /** It gets its own database, with these options. Default: the database of the others. */
  readonly world?: WorldOptions;
  start(world: World): Server | Promise<Server>;
  /** Default: the common requests. */
  readonly exchanges?: (world: World) => readonly Exchange[];
  readonly knowsCallers?: boolean;
  readonly counts?: boolean;
  /** Whether its responses must equal ours byte by byte. */
  readonly answersAlike?: boolean;
}

/** `ours` may need at most 1 / `atLeast` of the CPU time of `other`. */
export interface Aim {
  readonly ours: string;
  readonly other: string;
  readonly atLeast: number;
}

export interface HttpComparison {
  readonly name: string;
  readonly about: string;
  readonly operations: string;
  readonly contestants: readonly HttpContestant[];
  readonly aims: readonly Aim[];
  readonly exchanges: (world: World) => readonly Exchange[];
}

/** Each session sends one request in this time. */
const EVERY_SECONDS = 30;
const SESSIONS = 10_000;
const RATE = SESSIONS / EVERY_SECONDS;

type Samples = readonly (PacedSample | undefined)[];

interface HttpResult extends Pick<HttpContestant, "name" | "role"> {
  readonly samples: Samples;
}

export function compareHttp(comparison: HttpComparison): Measurement {
  const { name, about } = comparison;
  return {
    name,
    about,
    goal: { atLeast: 1, unit: "of the goals" },
    run: async (effort) => describe(comparison, await runAll(comparison, effort)),
  };
}

async function runAll(comparison: HttpComparison, effort: Effort): Promise<HttpResult[]> {
  const { name } = comparison;
  const contestants = comparison.contestants.filter(({ isLeftOut }) => isLeftOut?.(effort) !== true);
  const sessions = isSmoke(effort) ? 100 : SESSIONS;
  const world = await createWorld(sessions);
  const worlds = [world];
  try {
    const exchanges = comparison.exchanges(world);
    const usual = writeExchanges(name, exchanges);
    const present = await Promise.all(
      contestants.map(async (contestant, index) => {
        const own = contestant.world && (await createWorld(sessions, contestant.world));
        if (own !== undefined) worlds.push(own);
        const exchangesOf = contestant.exchanges ?? (own && comparison.exchanges);
        return {
          ...contestant,
          server: await contestant.start(own ?? world),
          requests: exchangesOf ? writeExchanges(`${name}-${index}`, exchangesOf(own ?? world)) : usual,
        };
      }),
    );
    const judged = present.filter(({ isExtra }) => isExtra !== true);
    const extra = present.filter(({ isExtra }) => isExtra === true);
    const rounds: Map<string, PacedSample>[] = [];
    const answers = new Map<string, readonly string[]>();
    for (const round of planRounds(judged, extra, effort.rounds)) {
      const samples = new Map<string, PacedSample>();
      for (const {
        name: who,
        server,
        requests,
        answersAlike,
        knowsCallers = false,
        counts = false,
      } of round) {
        const pace = { requests, ratePerSecond: RATE, knowsCallers, counts };
        const sample = await withServer(server, async (target) => {
          if (answersAlike && !answers.has(who)) answers.set(who, await askSome(target, exchanges));
          return pacedLoad(target, effort, pace);
        });
        samples.set(who, sample);
      }
      requireSameAnswers(answers);
      rounds.push(samples);
      effort.onRound(rounds.length);
    }
    return contestants.map(({ name: who, role }) => ({
      name: who,
      role,
      samples: rounds.map((round) => round.get(who)),
    }));
  } finally {
    for (const { close } of worlds) await close();
  }
}

// --- report ---

function describe(
  { aims, contestants, operations }: HttpComparison,
  results: readonly HttpResult[],
): Finding {
  const isPresent = (name: string): boolean => results.some((result) => result.name === name);
  const samplesOf = (name: string): Samples => results.find((result) => result.name === name)?.samples ?? [];
  const judged = aims
    .filter(({ other }) => isPresent(other))
    .map((aim) => ({
      ...aim,
      ratios: pairSamples(samplesOf(aim.ours), samplesOf(aim.other)).cpu,
      atRate: pairSamples(atRateOf(samplesOf(aim.ours)), atRateOf(samplesOf(aim.other))).cpu,
    }));
  const table = tabulate(results);
  const absent = contestants.filter(({ name }) => !isPresent(name));
  const doubts = [...absent.map(({ name }) => `${name} was left out.`), ...doubtsOf(results)];
  const rounds = Math.max(...results.map(({ samples }) => samples.length));
  return {
    figures: Array.from({ length: rounds }, (_, round) =>
      Math.min(...judged.flatMap(({ ratios, atLeast }) => shareOf(ratios[round], atLeast))),
    ),
    report: [formatTable(table), formatTable(tabulateAims(judged)), ...doubts].join("\n\n"),
    table,
    doubts,
    chart: {
      title: `${operations} per second of the server's CPU time (longer is better)`,
      bars: results.map(({ name, role, samples }) => ({
        name,
        role,
        value: 1e6 / medianOf(samples, ({ cpuUsPerOperation }) => cpuUsPerOperation),
      })),
    },
    rivals: judged.flatMap(({ other, ratios }) => {
      const isPeer = results.some(({ name, role }) => name === other && role === "peer");
      return isPeer ? [{ name: other, lead: median(ratios) }] : [];
    }),
  };
}

/** Servers that run in three rounds have no figure in the others. */
function shareOf(ratio: number | undefined, atLeast: number): number[] {
  return ratio === undefined ? [] : [ratio / atLeast];
}

function atRateOf(samples: Samples): (PacedSample["atRate"] | undefined)[] {
  return samples.map((sample) => sample?.atRate);
}

function tabulate(results: readonly HttpResult[]): Table {
  const atLimit = ["median of rounds", "CPU µs", "of that in the background", "requests/s"];
  const atRate = [`at ${RATE.toFixed(0)}/s: CPU µs`, "p50 ms", "p99 ms", "known callers", "rounds"];
  const rows = results.map(({ name, samples }) => [
    name,
    medianOf(samples, ({ cpuUsPerOperation }) => cpuUsPerOperation).toFixed(0),
    medianOf(samples, ({ backgroundUs }) => backgroundUs).toFixed(1),
    medianOf(samples, ({ operationsPerSecond }) => operationsPerSecond).toFixed(0),
    medianOf(samples, (sample) => sample.atRate.cpuUsPerOperation).toFixed(0),
    medianOf(samples, (sample) => sample.atRate.p50Us / 1000).toFixed(2),
    medianOf(samples, (sample) => sample.atRate.p99Us / 1000).toFixed(2),
    formatShare(samples),
    String(samples.filter((sample) => sample !== undefined).length),
  ]);
  return [[...atLimit, ...atRate], ...rows];
}

function formatShare(samples: Samples): string {
  const shares = samples.flatMap((sample) => sample?.hitShare ?? []);
  return shares.length === 0 ? "" : `${(100 * median(shares)).toFixed(1)} %`;
}

type Judged = Aim & { readonly ratios: readonly number[]; readonly atRate: readonly number[] };

function tabulateAims(judged: readonly Judged[]): Table {
  const header = ["", "CPU ratio", "goal", "", `at ${RATE.toFixed(0)}/s`, "CPU ratio of each round"];
  const rows = judged.map(({ ours, other, atLeast, ratios, atRate }) => [
    `${ours} against ${other}`,
    median(ratios).toFixed(2),
    `≥ ${atLeast}`,
    median(ratios) >= atLeast ? "ok" : "short",
    median(atRate).toFixed(2),
    ratios.map((ratio) => ratio.toFixed(2)).join(" "),
  ]);
  return [header, ...rows];
}

function medianOf(samples: Samples, of: (sample: PacedSample) => number): number {
  return median(samples.filter((sample) => sample !== undefined).map(of));
}

/** Above this share of late requests the rate was not steady. */
const MAX_LATE = 0.05;
const MIN_RATE_SHARE = 0.98;

function doubtsOf(results: readonly HttpResult[]): string[] {
  const isUnsteady = (sample: PacedSample | undefined): boolean =>
    sample !== undefined &&
    (sample.atRate.lateShare > MAX_LATE || sample.atRate.operationsPerSecond < MIN_RATE_SHARE * RATE);
  return [
    ...(canPin() ? [] : ["Not pinned: taskset is missing, or the machine has fewer than two cores."]),
    ...results.flatMap(({ name, samples }) => {
      const unsteady = samples.filter(isUnsteady).length;
      return unsteady === 0
        ? []
        : [
            `In ${unsteady} of ${samples.length} rounds ${name} did not receive its requests at a steady rate.`,
          ];
    }),
  ];
}
