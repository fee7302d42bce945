/** Decides from paired rounds whether a goal is reached. Pure: it runs and prints nothing. */

/** The required median of the rounds' figures. A ratio unless it has a unit. */
export type Goal = ({ readonly atLeast: number } | { readonly atMost: number }) & { readonly unit?: string };

/** The result of one server in one round. */
export interface Sample {
  readonly cpuUsPerOperation: number;
  readonly operationsPerSecond: number;
  readonly p99Us?: number;
}

/** One ratio per round in which both ran. Above 1 is better for us, except for latency. */
export interface Ratios {
  readonly cpu: readonly number[];
  readonly rate: readonly number[];
  readonly p99: readonly number[];
}

export interface Verdict {
  /** The median. */
  readonly value: number;
  /** Rounds that missed the goal by more than noise explains. */
  readonly strays: number;
  readonly ok: boolean;
}

/** Rounds needed for ours and the baselines, because a single round on a shared machine says little. */
export const MIN_ROUNDS = 10;
/** Rounds of peers, which are only for orientation. */
const PEER_ROUNDS = 3;
const MAX_STRAYS = 2;
const STRAY_SHARE = 0.85;

export function judge(figures: readonly number[], goal: Goal): Verdict {
  const value = median(figures);
  const strays = figures.filter((figure) =>
    "atLeast" in goal ? figure < goal.atLeast * STRAY_SHARE : figure > goal.atMost / STRAY_SHARE,
  ).length;
  return { value, strays, ok: reaches(value, goal) && strays <= MAX_STRAYS };
}

function reaches(value: number, goal: Goal): boolean {
  return "atLeast" in goal ? value >= goal.atLeast : value <= goal.atMost;
}

/**
 * Which servers run in which round, in which order. Each runs once per round, so that a busy minute of the machine
 * affects all alike, and each round starts with another server, so that none always runs first.
 */
export function planRounds<Subject>(
  subjects: readonly Subject[],
  peers: readonly Subject[],
  rounds: number,
): Subject[][] {
  return Array.from({ length: rounds }, (_, round) => {
    const present = round < PEER_ROUNDS ? [...subjects, ...peers] : subjects;
    const first = round % present.length;
    return [...present.slice(first), ...present.slice(0, first)];
  });
}

/** The rounds in which both ran. Index n of both lists is round n, empty where one did not run. */
export function pairRounds<Achieved>(
  ours: readonly (Achieved | undefined)[],
  theirs: readonly (Achieved | undefined)[],
): { readonly our: Achieved; readonly their: Achieved }[] {
  return ours.flatMap((our, round) => {
    const their = theirs[round];
    return our === undefined || their === undefined ? [] : [{ our, their }];
  });
}

/** Compares two servers round by round. */
export function pairSamples(
  ours: readonly (Sample | undefined)[],
  theirs: readonly (Sample | undefined)[],
): Ratios {
  const pairs = pairRounds(ours, theirs);
  return {
    cpu: pairs.map(({ our, their }) => their.cpuUsPerOperation / our.cpuUsPerOperation),
    rate: pairs.map(({ our, their }) => our.operationsPerSecond / their.operationsPerSecond),
    p99: pairs.flatMap(({ our, their }) =>
      our.p99Us === undefined || their.p99Us === undefined ? [] : [our.p99Us / their.p99Us],
    ),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new Error("The median needs at least one value.");
  return (lower + upper) / 2;
}

export function formatGoal(goal: Goal): string {
  return withUnit("atLeast" in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`, goal);
}

/** Two digits, and never a figure that looks like the goal when it was missed. */
export function formatValue(value: number, goal: Goal): string {
  return withUnit(roundAway(value, goal).toFixed(2), goal);
}

function roundAway(value: number, goal: Goal): number {
  const nearest = Math.round(value * 100) / 100;
  if (reaches(nearest, goal) === reaches(value, goal)) return nearest;
  return nearest > value ? nearest - 0.01 : nearest + 0.01;
}

function withUnit(text: string, { unit }: Goal): string {
  return unit === undefined ? text : `${text} ${unit}`;
}

/** Why the verdict differs from the median. Undefined when it does not. */
export function explainStrays({ strays }: Verdict, goal: Goal): string | undefined {
  if (strays <= MAX_STRAYS) return undefined;
  const limit = "atLeast" in goal ? goal.atLeast * STRAY_SHARE : goal.atMost / STRAY_SHARE;
  const side = "atLeast" in goal ? "below" : "above";
  return `${strays} rounds were ${side} ${limit.toFixed(2)}; at most ${MAX_STRAYS} may be.`;
}
