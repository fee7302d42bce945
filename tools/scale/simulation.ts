/**
 * 60 processes with a million connections, second by second: how uneven it becomes when chance decides which process a
 * connection is on and when a message is published. The same seed gives the same figures.
 */

import { figure, percent, type Table, whole } from "./format.ts";
import type { WireCosts, WireLoad } from "./wire.ts";

export interface Simulated {
  readonly connections: { readonly least: number; readonly most: number };
  readonly subscriptions: { readonly perProcess: number; readonly all: number };
  readonly processesPerRoom: number;
  /** Shares of a core. */
  readonly busy: { readonly median: number; readonly p99: number; readonly most: number };
  readonly broker: { readonly median: number; readonly most: number };
  /** Connections that reconnect to each other process when one dies. */
  readonly moved: number;
}

const SECONDS = 60;
const SEED = 20_261_117;

export function simulate(load: WireLoad, costs: WireCosts, processes: number, seconds = SECONDS): Simulated {
  const random = createRandom(SEED);
  const rooms = Math.floor(load.connections / load.roomSize);
  const members = new Uint32Array(processes);
  const subscriptions = new Uint32Array(processes);
  /** In how many processes each room has members. */
  const spread = new Uint16Array(rooms);
  /** The processes of each room's members, in order. */
  const places = new Uint8Array(rooms * load.roomSize);
  for (let room = 0; room < rooms; room++) {
    const seen = new Set<number>();
    for (let member = 0; member < load.roomSize; member++) {
      const at = Math.floor(random() * processes);
      places[room * load.roomSize + member] = at;
      members[at] = (members[at] ?? 0) + 1;
      seen.add(at);
    }
    places.subarray(room * load.roomSize, (room + 1) * load.roomSize).sort();
    spread[room] = seen.size;
    for (const at of seen) subscriptions[at] = (subscriptions[at] ?? 0) + 1;
  }
  const busy: number[] = [];
  const broker: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const work = Float64Array.from(
      members,
      (count) => poisson(random, count * load.requestsPerConnection) * costs.requestUs,
    );
    const publishes = poisson(random, load.connections * load.publishesPerConnection);
    let messages = 0;
    for (let publish = 0; publish < publishes; publish++) {
      const room = Math.floor(random() * rooms);
      messages += spread[room] ?? 0;
      const from = places[room * load.roomSize + Math.floor(random() * load.roomSize)] ?? 0;
      work[from] = (work[from] ?? 0) + costs.publishUs;
      let last = -1;
      for (let member = room * load.roomSize; member < (room + 1) * load.roomSize; member++) {
        const at = places[member] ?? 0;
        work[at] = (work[at] ?? 0) + costs.deliveryUs + (at === last ? 0 : costs.receiveUs);
        last = at;
      }
    }
    for (const us of work) busy.push(us / 1e6);
    broker.push((messages * costs.brokerUs) / 1e6);
  }
  busy.sort((a, b) => a - b);
  broker.sort((a, b) => a - b);
  return {
    connections: { least: Math.min(...members), most: Math.max(...members) },
    subscriptions: { perProcess: Math.max(...subscriptions), all: sum(subscriptions) },
    processesPerRoom: sum(spread) / rooms,
    busy: { median: quantile(busy, 0.5), p99: quantile(busy, 0.99), most: quantile(busy, 1) },
    broker: { median: quantile(broker, 0.5), most: quantile(broker, 1) },
    moved: Math.max(...members) / (processes - 1),
  };
}

export function tabulateSimulation(result: Simulated, costs: WireCosts): Table {
  const { connections, subscriptions, busy, broker } = result;
  const bytes = costs.baseBytes + connections.most * costs.authenticatedBytes;
  return [
    ["figure", "value"],
    [
      "connections of a process, least and most",
      `${whole(connections.least)} and ${whole(connections.most)}`,
    ],
    ["memory of the fullest process", `${whole(bytes / 1_000_000)} MB`],
    ["processes with a member of a room, mean", figure(result.processesPerRoom)],
    ["topics of a process, most", whole(subscriptions.perProcess)],
    ["subscriptions in the broker", whole(subscriptions.all)],
    ["busy share of a process's core in a second: median", percent(busy.median)],
    ["the same: 99th percentile", percent(busy.p99)],
    ["the same: the worst second of the busiest process", percent(busy.most)],
    ["busy share of the broker's core: median", percent(broker.median)],
    ["the same: the worst second", percent(broker.most)],
    ["a process dies: connections that each other process takes over", whole(result.moved)],
  ];
}

/** Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The number of events in a second, by the normal approximation, which is close above ten. */
function poisson(random: () => number, mean: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
