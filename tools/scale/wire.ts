/** How many processes, how much memory and how much of a broker a number of connections needs. */

import { figure, percent, type Table, whole } from "./format.ts";
import { page, performance } from "./measured.ts";

/** What the application does. Stated, not measured: replace it with yours. */
export interface WireLoad {
  readonly connections: number;
  /** Each connection is a member of one room. */
  readonly roomSize: number;
  /** Messages that each connection publishes to its room, per second. */
  readonly publishesPerConnection: number;
  /** Requests of each connection, per second. */
  readonly requestsPerConnection: number;
  /** The most connections of one process: how many reconnect when it dies. */
  readonly connectionsPerProcess: number;
  /** The share of a core that a process may use at the peak. */
  readonly usableCore: number;
}

export const WIRE_LOAD: WireLoad = {
  connections: 1_000_000,
  roomSize: 10,
  publishesPerConnection: 0.01,
  requestsPerConnection: 0.02,
  connectionsPerProcess: 20_000,
  usableCore: 0.6,
};

/** CPU time in µs, memory in bytes. */
export interface WireCosts {
  readonly idleBytes: number;
  readonly authenticatedBytes: number;
  readonly baseBytes: number;
  readonly requestUs: number;
  readonly deliveryUs: number;
  readonly batchedDeliveryUs: number;
  readonly publishUs: number;
  readonly receiveUs: number;
  readonly brokerUs: number;
}

const STORM = "docs/evidence/reconnect-storm.md";
const SIZING = "docs/guide/wire-sizing.md";
const MIB = 1024 * 1024;
const STORM_CLIENTS = 10_000;

export function readWireCosts(): WireCosts {
  const steady = page(STORM, "the server's memory when steady, MiB", "all cut") * MIB;
  const baseBytes = performance("idle-node", "Halyard", "MB without connections") * 1_000_000;
  return {
    idleBytes: performance("idle-node", "Halyard", "KB a connection") * 1_000,
    authenticatedBytes: (steady - baseBytes) / STORM_CLIENTS,
    baseBytes,
    requestUs: performance("rpc-node", "Halyard", "CPU µs/op"),
    deliveryUs: performance("fanout-node-1", "Halyard", "CPU µs/op"),
    batchedDeliveryUs: performance("fanout-node", "Halyard", "CPU µs/op"),
    publishUs: 23,
    receiveUs: 8,
    brokerUs: 3,
  };
}

/** The costs with the commands that print them. */
export function tabulateWireCosts(costs: WireCosts): Table {
  const source = (name: string): string => `\`npm run bench -- ${name}\``;
  const sizing = "[Sizing](wire-sizing.md#cpu-with-a-broker), the upper figure";
  return [
    ["cost", "figure", "from"],
    [
      "an idle connection with a topic and heartbeat",
      `${figure(costs.idleBytes / 1_000)} KB`,
      source("idle-node"),
    ],
    [
      "the same, authenticated, over Redis, after a storm",
      `${figure(costs.authenticatedBytes / 1_000)} KB`,
      "[Reconnect storm](../evidence/reconnect-storm.md)",
    ],
    ["a process without connections", `${figure(costs.baseBytes / 1_000_000)} MB`, source("idle-node")],
    ["a request with its response", `${figure(costs.requestUs)} µs`, source("rpc-node")],
    ["a delivery to one connection", `${figure(costs.deliveryUs)} µs`, source("fanout-node-1")],
    ["the same when 8 messages wait", `${figure(costs.batchedDeliveryUs)} µs`, source("fanout-node")],
    ["a publish over a broker", `${figure(costs.publishUs)} µs`, sizing],
    ["a message from the broker, per process", `${figure(costs.receiveUs)} µs`, sizing],
    ["the same, in the broker", `${figure(costs.brokerUs)} µs`, sizing],
  ];
}

/** One line for each figure that the sizing page no longer has. */
export function checkSizingPage(text: string, { publishUs, receiveUs, brokerUs }: WireCosts): string[] {
  const expected = [
    `to ${publishUs} µs (node-redis)`,
    `7 to ${receiveUs} µs`,
    `1 to ${brokerUs} µs for each process`,
  ];
  return expected
    .filter((part) => !text.includes(part))
    .map((part) => `${SIZING} no longer says "${part}". Change the figure in tools/scale/wire.ts.`);
}

/** In how many of the processes a room has a member, on average. */
export function processesPerRoom(processes: number, roomSize: number): number {
  return processes * (1 - (1 - 1 / processes) ** roomSize);
}

export interface WirePlan {
  readonly processes: number;
  readonly coresPerProcess: number;
  readonly bytesPerProcess: number;
  readonly publishesPerSecond: number;
  readonly deliveriesPerSecond: number;
  readonly brokerMessagesPerSecond: number;
  readonly brokerCores: number;
  /** What needs the most processes. */
  readonly limit: "connections" | "CPU";
}

export function planWire(load: WireLoad, costs: WireCosts): WirePlan {
  const byConnections = Math.max(1, Math.ceil(load.connections / load.connectionsPerProcess));
  let processes = byConnections;
  // More processes spread a room further, so that each message is received more often.
  while (coresOf(load, costs, processes) / processes > load.usableCore) processes++;
  const publishesPerSecond = load.connections * load.publishesPerConnection;
  const brokerMessagesPerSecond =
    processes === 1 ? 0 : publishesPerSecond * processesPerRoom(processes, load.roomSize);
  return {
    processes,
    coresPerProcess: coresOf(load, costs, processes) / processes,
    bytesPerProcess: costs.baseBytes + (load.connections / processes) * costs.authenticatedBytes,
    publishesPerSecond,
    deliveriesPerSecond: publishesPerSecond * load.roomSize,
    brokerMessagesPerSecond,
    brokerCores: (brokerMessagesPerSecond * costs.brokerUs) / 1e6,
    limit: processes > byConnections ? "CPU" : "connections",
  };
}

/** The cores of all processes together. One process needs no broker. */
function coresOf(load: WireLoad, costs: WireCosts, processes: number): number {
  const publishes = load.connections * load.publishesPerConnection;
  const requests = load.connections * load.requestsPerConnection * costs.requestUs;
  const deliveries = publishes * load.roomSize * costs.deliveryUs;
  const received = processesPerRoom(processes, load.roomSize) * costs.receiveUs;
  const broker = processes === 1 ? 0 : publishes * (costs.publishUs + received);
  return (requests + deliveries + broker) / 1e6;
}

export function tabulateConnections(load: WireLoad, costs: WireCosts): Table {
  const sizes = new Set([1_000, 10_000, 100_000, 1_000_000, load.connections]);
  const rows = [...sizes]
    .sort((a, b) => a - b)
    .map((connections) => {
      const plan = planWire({ ...load, connections }, costs);
      return [
        whole(connections),
        whole(plan.processes),
        percent(plan.coresPerProcess),
        `${whole(plan.bytesPerProcess / 1_000_000)} MB`,
        whole(plan.publishesPerSecond),
        whole(plan.deliveriesPerSecond),
        plan.processes === 1 ? "no broker" : whole(plan.brokerMessagesPerSecond),
        plan.processes === 1 ? "–" : percent(plan.brokerCores),
      ];
    });
  return [
    [
      "connections",
      "processes",
      "of a core each",
      "memory each",
      "publishes/s",
      "deliveries/s",
      "broker messages/s",
      "of a broker's core",
    ],
    ...rows,
  ];
}

/** The same connections with more messages: where CPU decides the number of processes. */
export function tabulateBusier(load: WireLoad, costs: WireCosts): Table {
  const rows = [1, 10, 100].map((factor) => {
    const plan = planWire(
      {
        ...load,
        publishesPerConnection: load.publishesPerConnection * factor,
        requestsPerConnection: load.requestsPerConnection * factor,
      },
      costs,
    );
    return [
      `${factor} ×`,
      whole(plan.publishesPerSecond),
      whole(plan.deliveriesPerSecond),
      whole(plan.processes),
      plan.limit,
      figure(plan.coresPerProcess * plan.processes),
      `${figure((plan.bytesPerProcess * plan.processes) / 1e9)} GB`,
      figure(plan.brokerCores),
    ];
  });
  return [
    [
      "messages",
      "publishes/s",
      "deliveries/s",
      "processes",
      "because of",
      "busy cores in all",
      "memory in all",
      "broker cores",
    ],
    ...rows,
  ];
}

/** How much one core of a broker carries, by the size of rooms and the number of processes. */
export function tabulateBroker(load: WireLoad, costs: WireCosts): Table {
  const perCore = (load.usableCore * 1e6) / costs.brokerUs;
  const rows = [2, 10, 60, 200].map((processes) => [
    whole(processes),
    ...[2, 10, 100, 10_000].map((roomSize) =>
      whole(Math.floor(perCore / processesPerRoom(processes, roomSize))),
    ),
  ]);
  return [["processes", "rooms of 2", "of 10", "of 100", "of 10,000"], ...rows];
}
