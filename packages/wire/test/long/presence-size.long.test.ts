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
import { redisPubSub } from "../../src/redis.ts";
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
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3 });
});
afterEach(async () => {
  await fleet.stop();
  for (const end of after.splice(0)) await end();
});
afterAll(() => cluster.stop());

const BROKERS: Readonly<Record<string, (name: string) => BrokerPubSub | Promise<BrokerPubSub>>> = {
  Redis: (name) => redisPubSub(createClient({ url: redis.url }), { prefix: `${redis.prefix}:${name}:` }),
  "Redis Cluster": (name) =>
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
      const report = await fleet.join(ROOMS, JOINS_PER_SECOND, random);
      console.info(`${broker}, ${size} processes:`, report);
      expect(report.partial).toBe(0);
      expect(report.deliveriesPerJoin).toBeLessThanOrEqual(4 * report.holders);
    },
  );

  test(`at rest costs ${AT_REST} processes at most 10,000 deliveries a second`, async () => {
    const name = `n${++count}`;
    await fleet.start(AT_REST, () => open(name));
    const perSecond = await fleet.countFor(REST_MS);
    console.info(`${broker}, ${AT_REST} processes at rest, a second:`, perSecond);
    expect(perSecond.get("signs of life")).toBeLessThanOrEqual(10_500);
  });
});

test(`${AT_ONCE} joins at once, and an outage of the broker, leave no list partial for ${COMPLETE_MS} ms`, async () => {
  const server = await startRedis();
  after.push(() => server.stop());
  await fleet.start(6, () => redisPubSub(createClient({ url: server.url })));
  const report = await fleet.join(
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
  console.info(`complete ${Math.round(tookMs)} ms after an outage of ${OUTAGE_MS} ms`);
  expect(fleet.partial).toBe(0);
});
