/** How many processes, how much memory and how much of a broker a number of connections needs. */

import { benchCommand, figure, percent, type Table, whole } from "./format.ts";
import { isDoubtful, page, performance } from "./measured.ts";

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
const MIB = 1024 * 1024;
const STORM_CLIENTS = 10_000;

/** Rows and columns of the measurement. The tables use Redis, which costs a process more than NATS. */
const BROKER = "broker-costs";
const REDIS = "Redis, 10,000 topics";
const NATS = "NATS, 10,000 topics";
const PUBLISH = "a publish";
const RECEIVE = "a message, in each process";
const RELAY = "a message, in the broker";

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
    publishUs: performance(BROKER, REDIS, PUBLISH),
    receiveUs: performance(BROKER, REDIS, RECEIVE),
    brokerUs: performance(BROKER, REDIS, RELAY),
  };
}

/** Names the command, and a doubt about its last run. */
function brokerSource(): string {
  return benchCommand(BROKER) + (isDoubtful(BROKER) ? ", on a busy machine" : "");
}

/** The costs with the commands that print them. */
export function tabulateWireCosts(costs: WireCosts): Table {
  return [
    ["cost", "figure", "from"],
    [
      "an idle connection with a topic and heartbeat",
      `${figure(costs.idleBytes / 1_000)} KB`,
      benchCommand("idle-node"),
    ],
    [
      "the same, authenticated, over Redis, after a storm",
      `${figure(costs.authenticatedBytes / 1_000)} KB`,
      "[Reconnect storm](../evidence/reconnect-storm.md)",
    ],
    ["a process without connections", `${figure(costs.baseBytes / 1_000_000)} MB`, benchCommand("idle-node")],
    ["a request with its response", `${figure(costs.requestUs)} µs`, benchCommand("rpc-node")],
    ["a delivery to one connection", `${figure(costs.deliveryUs)} µs`, benchCommand("fanout-node-1")],
    ["the same when 8 messages wait", `${figure(costs.batchedDeliveryUs)} µs`, benchCommand("fanout-node")],
    ["a publish over Redis", `${figure(costs.publishUs)} µs`, brokerSource()],
    ["a message from Redis, per process", `${figure(costs.receiveUs)} µs`, brokerSource()],
    ["the same, in Redis", `${figure(costs.brokerUs)} µs`, brokerSource()],
  ];
}

/** The memory of a connection, for the page on sizing. */
export function tabulateMemory(): Table {
  const memory = (measurement: string): string =>
    `${figure(performance(measurement, "Halyard", "KB a connection"))} KB`;
  const base = (measurement: string): string =>
    `${figure(performance(measurement, "Halyard", "MB without connections"))} MB`;
  return [
    ["measured", "Node", "Bun", "from"],
    [
      "an idle connection with heartbeat and one topic",
      memory("idle-node"),
      memory("idle-bun"),
      benchCommand("idle-node idle-bun"),
    ],
    [
      "a process without connections",
      base("idle-node"),
      base("idle-bun"),
      benchCommand("idle-node idle-bun"),
    ],
    [
      "a connection after a reconnect storm, authenticated, over Redis",
      `${figure(readWireCosts().authenticatedBytes / 1_000)} KB`,
      "–",
      "[Reconnect storm](../evidence/reconnect-storm.md)",
    ],
  ];
}

/** The costs of both brokers, for the page on sizing. */
export function tabulateBrokerCosts(): Table {
  const row = (about: string, column: string): string[] => [
    about,
    ...[REDIS, NATS].map((broker) => `${figure(performance(BROKER, broker, column))} µs`),
    brokerSource(),
  ];
  const delivery = `${figure(performance("fanout-node", "Halyard", "CPU µs/op"))} to ${figure(performance("fanout-node-1", "Halyard", "CPU µs/op"))} µs`;
  return [
    ["CPU time", "Redis", "NATS", "from"],
    row("a publish, in the publishing process", PUBLISH),
    row("a message, in each process with a subscriber, before it is sent to clients", RECEIVE),
    row("a message, in the broker, for each process with a subscriber", RELAY),
    [
      "a message, for each connection it is sent to",
      delivery,
      delivery,
      benchCommand("fanout-node fanout-node-1"),
    ],
  ];
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
        plan.processes === 1 ? "–" : whole(plan.brokerMessagesPerSecond),
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
