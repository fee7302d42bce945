/** How many messages presence costs: for each join, and at rest. */
import { setTimeout as delay } from "node:timers/promises";
import {
  createNatsPrefix,
  createRedisPrefix,
  type PrivateCluster,
  sized,
  startRedis,
  startRedisCluster,
} from "@halyard/services";
import { connect } from "@nats-io/transport-node";
import { createClient, createCluster } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { natsPubSub } from "../../src/nats.ts";
import type { BrokerPubSub } from "../../src/pubsub/broker.ts";
import { slotOf } from "../../src/pubsub/redis/channel-slot.ts";
import { topicChannel } from "../../src/pubsub/redis/channels.ts";
import { redisPubSub } from "../../src/redis.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { Random, seedOf } from "../fixtures/random.ts";
import { Fleet } from "../fixtures/scale/presence-fleet.ts";

const SIZES = [5, 20, 60] as const;
const ROOMS = 60;
const JOINS_PER_SECOND = 100;
const AT_REST = sized(200, 60);
const REST_MS = 16_000;
const AT_ONCE = sized(10_000, 1_000);
/** No list is partial after this time. */
const COMPLETE_MS = 10_000;
const OUTAGE_MS = 5_000;

const redis = await createRedisPrefix();
const nats = await createNatsPrefix();
let cluster: PrivateCluster;
let count = 0;
const after: (() => unknown)[] = [];
const fleet = new Fleet();
const findings = new Findings();
const round = (figure: number): number => Math.round(figure * 10) / 10;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: MASTERS });
});
afterEach(async () => {
  await fleet.stop();
  for (const end of after.splice(0)) await end();
});
afterAll(async () => {
  await cluster.stop();
  findings.publish("presence-size", Object.keys(BROKERS).length * (SIZES.length + 1) + 1, {
    what: "Processes with connections of their own in one program, over Redis, a Redis Cluster of three masters, and NATS. A delivery is a message that a process receives from the broker, its own included.",
    size: `Rooms of 10 whose members join on ${SIZES.join(", ")} processes, ${JOINS_PER_SECOND} a second; ${AT_REST} processes at rest for ${REST_MS / 1_000} s; ${AT_ONCE.toLocaleString("en")} joins at once on 6 processes, then an outage of Redis of ${OUTAGE_MS / 1_000} s.`,
    checked: `A join costs at most 4 deliveries for each process that holds the room, and no master of the cluster carries more than ${MOST_OF_A_MASTER} times the mean of them; signs of life are at most 10,000 deliveries a second; no list is partial ${COMPLETE_MS / 1_000} s after the joins, and after the outage.`,
    suite: "packages/wire/test/long/presence-size.long.test.ts",
  });
});

const CLUSTER = "Redis Cluster";
const MASTERS = 3;
const SLOTS = 16_384;
/** The deliveries of the busiest master, as a multiple of the mean. */
const MOST_OF_A_MASTER = 1.5;

/** Each master of the cluster carries the topics of its slots. */
function shareOfMaster(name: string, byTopic: ReadonlyMap<string, number>, size: number) {
  const carried = Array<number>(MASTERS).fill(0);
  for (const [topic, deliveries] of byTopic) {
    const master = Math.floor((slotOf(topicChannel(`${name}:`, topic)) * MASTERS) / SLOTS);
    carried[master] = (carried[master] ?? 0) + deliveries;
  }
  const share = (Math.max(...carried) * MASTERS) / carried.reduce((sum, count) => sum + count, 0);
  expect(share).toBeLessThanOrEqual(MOST_OF_A_MASTER);
  return { [`busiest master of ${MASTERS}, of the mean, ${size} processes`]: round(share) };
}

const BROKERS: Readonly<Record<string, (name: string) => BrokerPubSub | Promise<BrokerPubSub>>> = {
  Redis: (name) => redisPubSub(createClient({ url: redis.url }), { prefix: `${redis.prefix}:${name}:` }),
  [CLUSTER]: (name) =>
    redisPubSub(createCluster({ rootNodes: cluster.urls.map((url) => ({ url })) }), { prefix: `${name}:` }),
  NATS: async (name) => {
    const connection = await connect({ servers: nats.url });
    after.push(() => connection.close());
    return natsPubSub(connection, { prefix: `${nats.prefix}.${name}.` });
  },
};

describe.each(Object.entries(BROKERS))("presence over %s", (broker, open) => {
  const random = new Random(seedOf(`presence size over ${broker}`));
  test.each(SIZES)(
    "in rooms of 10 on %i processes costs at most 4 deliveries a join for each process that holds the room",
    async (size) => {
      const name = `n${++count}`;
      await fleet.start(size, () => open(name));
      const { byTopic, ...report } = await fleet.join(ROOMS, JOINS_PER_SECOND, random);
      console.info(`${broker}, ${size} processes:`, report);
      expect(report.partial).toBe(0);
      expect(report.deliveriesPerJoin).toBeLessThanOrEqual(4 * report.holders);
      findings.passed(broker, {
        [`deliveries a join, ${size} processes`]: round(report.deliveriesPerJoin),
        [`processes that hold a room, of ${size}`]: round(report.holders),
        ...(broker === CLUSTER && shareOfMaster(name, byTopic, size)),
      });
    },
  );

  test(`at rest costs ${AT_REST} processes at most 10,000 deliveries a second`, async () => {
    const name = `n${++count}`;
    await fleet.start(AT_REST, () => open(name));
    const perSecond = await fleet.countFor(REST_MS);
    console.info(`${broker}, ${AT_REST} processes at rest, a second:`, perSecond);
    // Rounds take 4 s, and the time that is counted may begin and end within one.
    expect(perSecond.get("signs of life")).toBeLessThanOrEqual(10_100);
    findings.passed(
      broker,
      Object.fromEntries(
        [...perSecond].map(([kind, figure]) => [
          `${kind} a second, ${AT_REST} processes`,
          Math.round(figure),
        ]),
      ),
    );
  });
});

test(`${AT_ONCE} joins at once, and an outage of the broker, leave no list partial for ${COMPLETE_MS} ms`, async () => {
  const server = await startRedis();
  after.push(() => server.stop());
  await fleet.start(6, () => redisPubSub(createClient({ url: server.url })));
  const { byTopic: _, ...report } = await fleet.join(
    AT_ONCE / 10,
    Number.POSITIVE_INFINITY,
    new Random(seedOf("joins at once")),
  );
  console.info(`${AT_ONCE} joins at once:`, report);
  expect(report.partial).toBe(0);
  await server.kill();
  await delay(OUTAGE_MS);
  expect(fleet.partial).toBeGreaterThan(0);
  await server.restart();
  const tookMs = await fleet.whenComplete(COMPLETE_MS);
  expect(fleet.partial).toBe(0);
  findings.passed("Redis", {
    [`partial lists after ${AT_ONCE} joins at once`]: report.partial,
    "ms until lists are complete after the outage": Math.round(tookMs),
  });
});
