import {
  type PrivateServer,
  startNats,
  startNatsCluster,
  startRedis,
  startRedisCluster,
  startRedisSentinels,
} from "@halyard/services";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster, createSentinel } from "redis";
import { afterAll, describe, expect, test } from "vitest";
import type { PubSub } from "../../src/index.ts";
import { natsPubSub } from "../../src/nats.ts";
import { redisPubSub } from "../../src/redis.ts";
import { pubsubContract } from "../contract/pubsub.ts";
import { check } from "../fixtures/failover/checker.ts";
import { runFailover } from "../fixtures/failover/run.ts";
import { Findings } from "../fixtures/long/findings.ts";

const NODES = 3;
const TOPICS = 30;
const EVERY_MS = 5;
/** 600 messages a second of three processes, so that elections and slot tables are what is tested. */
const REPLICATED = { rounds: 10, burst: 1 };
const SENTINEL = { rounds: 20, burst: 1 };
/** 10,200 messages a second of three processes. */
const SINGLE = { rounds: 10, burst: 17 };
const LIMITS = { announcedWithinMs: 2_000, answeredWithinMs: 3_000 };

interface Brokers {
  open(node: number): Promise<PubSub>;
  disturb(round: number): Promise<void>;
  stop(): Promise<void>;
}

async function sentinels(library: "node-redis" | "ioredis"): Promise<Brokers> {
  const group = await startRedisSentinels();
  const roots = group.sentinels.map(({ port }) => ({ host: "127.0.0.1", port }));
  return {
    open: async () =>
      library === "ioredis"
        ? redisPubSub(new Redis({ sentinels: roots, name: group.name, lazyConnect: true }))
        : redisPubSub(createSentinel({ name: group.name, sentinelRootNodes: roots })),
    async disturb() {
      const master = await group.master();
      await master.kill();
      await expect.poll(() => group.master(), { timeout: 60_000 }).not.toBe(master);
      await master.restart();
      await group.healthy();
    },
    stop: () => group.stop(),
  };
}

async function redisCluster(library: "node-redis" | "ioredis"): Promise<Brokers> {
  const cluster = await startRedisCluster({ masters: 3, replicasPerMaster: 1 });
  return {
    open: async () =>
      library === "ioredis"
        ? redisPubSub(new Cluster([...cluster.urls], { lazyConnect: true }))
        : redisPubSub(createCluster({ rootNodes: cluster.urls.map((url) => ({ url })) })),
    disturb: (round) => killAndRestart(cluster.nodes[round % cluster.nodes.length], () => cluster.healthy()),
    stop: () => cluster.stop(),
  };
}

async function natsCluster(): Promise<Brokers> {
  const cluster = await startNatsCluster({ nodes: 3 });
  const connections: NatsConnection[] = [];
  return {
    async open(node) {
      const [first = "", ...others] = [...cluster.urls.slice(node), ...cluster.urls.slice(0, node)];
      const connection = await connect({
        servers: [first, ...others],
        noRandomize: true,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 100,
      });
      connections.push(connection);
      return natsPubSub(connection);
    },
    disturb: (round) => killAndRestart(cluster.nodes[round % cluster.nodes.length], () => cluster.healthy()),
    async stop() {
      await Promise.all(connections.map((connection) => connection.close()));
      await cluster.stop();
    },
  };
}

async function oneRedis(library: "node-redis" | "ioredis"): Promise<Brokers> {
  const server = await startRedis();
  return {
    open: async () =>
      library === "ioredis"
        ? redisPubSub(new Redis(server.url, { lazyConnect: true }))
        : redisPubSub(createClient({ url: server.url })),
    disturb: () => killAndRestart(server, async () => undefined),
    stop: () => server.stop(),
  };
}

async function oneNats(): Promise<Brokers> {
  const server = await startNats();
  const connections: NatsConnection[] = [];
  return {
    async open() {
      const connection = await connect({
        servers: server.url,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 100,
      });
      connections.push(connection);
      return natsPubSub(connection);
    },
    disturb: () => killAndRestart(server, async () => undefined),
    async stop() {
      await Promise.all(connections.map((connection) => connection.close()));
      await server.stop();
    },
  };
}

async function killAndRestart(node: PrivateServer | undefined, healthy: () => Promise<void>): Promise<void> {
  await node?.kill();
  // Longer than the other processes need to notice.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  await node?.restart();
  await healthy();
}

const findings = new Findings();
interface Size {
  readonly rounds: number;
  readonly burst: number;
}
const CLUSTERS: readonly [string, () => Promise<Brokers>, Size][] = [
  ["Sentinels, by node-redis", () => sentinels("node-redis"), SENTINEL],
  ["Sentinels, by ioredis", () => sentinels("ioredis"), SENTINEL],
  ["Redis Cluster, by node-redis", () => redisCluster("node-redis"), REPLICATED],
  ["Redis Cluster, by ioredis", () => redisCluster("ioredis"), REPLICATED],
  ["NATS cluster", natsCluster, REPLICATED],
];
const BROKERS = [
  ...CLUSTERS,
  ["one Redis, by node-redis", () => oneRedis("node-redis"), SINGLE],
  ["one Redis, by ioredis", () => oneRedis("ioredis"), SINGLE],
  ["one NATS server", oneNats, SINGLE],
] satisfies typeof CLUSTERS;

describe.each(BROKERS)("a cluster with %s", (name, start, { rounds, burst }) => {
  test(`announces every loss to its ${NODES} processes while brokers are killed ${rounds} times`, async () => {
    const brokers = await start();
    const pubsubs = await Promise.all(Array.from({ length: NODES }, (_, node) => brokers.open(node)));
    try {
      const history = await runFailover({
        pubsubs,
        topics: TOPICS,
        everyMs: EVERY_MS,
        burst,
        rounds,
        disturb: (round) => brokers.disturb(round),
        calmMs: 3_000,
      });
      const { problems, figures } = check(history, LIMITS);
      expect(problems.slice(0, 20)).toEqual([]);
      findings.passed(name, { kills: rounds, ...figures });
    } finally {
      await Promise.all(pubsubs.map((pubsub) => pubsub.close()));
      await brokers.stop();
    }
  });
});

describe.each(CLUSTERS)("a cluster with %s under normal operation", (name, start) => {
  let brokers: Brokers;
  pubsubContract(name, async () => {
    brokers ??= await start();
    const [near, far] = [await brokers.open(0), await brokers.open(1)];
    return { near, far, stop: async () => void (await Promise.all([near.close(), far.close()])) };
  });
  afterAll(() => brokers?.stop());
});

afterAll(() => {
  findings.publish("broker-failover", BROKERS.length, {
    what: "Processes publish to each other over a broker whose server, primary or only reachable node is killed repeatedly.",
    size: `${NODES} pub/subs with their own connections, as in ${NODES} processes; ${TOPICS} topics; ${(NODES * 1_000 * REPLICATED.burst) / EVERY_MS} messages a second over replicated brokers, ${(NODES * 1_000 * SINGLE.burst) / EVERY_MS} over a single one; ${SENTINEL.rounds} kills with Sentinels, ${SINGLE.rounds} with each of the others.`,
    checked: `Each process received the messages of each publisher on each topic in order and once; every accepted message that a process missed was announced within ${LIMITS.announcedWithinMs} ms of its publish and before the next message; every publish settled within ${LIMITS.answeredWithinMs} ms; after the last failure, no message was missing.`,
    suite: "packages/wire/test/long/broker-failover.long.test.ts",
  });
});
