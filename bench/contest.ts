/** Runs servers under the same load in turn, each in a fresh process, all of them once per round. */
import type { Role } from "./chart.ts";
import { planRounds } from "./judge.ts";
import type { Load } from "./load.ts";
import { type Effort, isSmoke } from "./measurement.ts";
import { type Server, withServer } from "./server.ts";

export interface Contest<Achieved> {
  readonly load: Load<Achieved>;
  readonly ours: Server;
  /** The goal refers to this one. */
  readonly baseline: Server;
  /** Other baselines, for information. */
  readonly others?: readonly Server[];
  /** Other libraries, for information. They run in three rounds only. */
  readonly peers?: readonly Server[];
}

export interface Result<Achieved> {
  readonly name: string;
  readonly role: Role;
  /** By round. Undefined where the server did not run. */
  readonly samples: readonly (Achieved | undefined)[];
}

export interface Results<Achieved> {
  readonly ours: Result<Achieved>;
  readonly baseline: Result<Achieved>;
  /** Ours first, then the baseline, the others and the peers. */
  readonly all: readonly Result<Achieved>[];
}

export async function runContest<Achieved>(
  { load, ours, baseline, others = [], peers: allPeers = [] }: Contest<Achieved>,
  effort: Effort,
): Promise<Results<Achieved>> {
  const peers = isSmoke(effort) ? [] : allPeers;
  const rounds: Map<Server, Achieved>[] = [];
  for (const servers of planRounds([ours, baseline, ...others], peers, effort.rounds)) {
    const round = new Map<Server, Achieved>();
    for (const server of servers)
      round.set(server, await withServer(server, (target) => load(target, effort)));
    rounds.push(round);
    effort.onRound(rounds.length);
  }
  const resultOf = (server: Server, role: Role): Result<Achieved> => ({
    name: server.name,
    role,
    samples: rounds.map((round) => round.get(server)),
  });
  const first = resultOf(ours, "ours");
  const second = resultOf(baseline, "baseline");
  return {
    ours: first,
    baseline: second,
    all: [
      first,
      second,
      ...others.map((server) => resultOf(server, "baseline")),
      ...peers.map((server) => resultOf(server, "peer")),
    ],
  };
}

/** The results of a server in the rounds in which it ran. */
export function ranIn<Achieved>({ samples }: Result<Achieved>): Achieved[] {
  return samples.filter((sample) => sample !== undefined);
}
