/** Channels on Node and Bun, over every broker. */
import {
  bunPath,
  createNatsPrefix,
  createRedisPrefix,
  type PrivateCluster,
  spawnProgram,
  startRedisCluster,
} from "@halyard/services";
import { connect } from "@nats-io/transport-node";
import { afterAll, expect, test, vi } from "vitest";
import { natsPubSub } from "../src/nats.ts";
import { createRouter } from "../src/zod.ts";
import { type ChannelServers, channelContract } from "./contract/channels.ts";
import { Kept } from "./fixtures/channels/app.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const redis = await createRedisPrefix();
const nats = await createNatsPrefix();
let count = 0;
/** One cluster for both platforms. */
let cluster: Promise<PrivateCluster> | undefined;

const PLATFORMS = {
  Node: { command: () => process.execPath, fixture: "node.ts" },
  Bun: { command: bunPath, fixture: "bun.ts" },
} as const;

async function start(platform: keyof typeof PLATFORMS, env: Record<string, string>): Promise<ChannelServers> {
  const { command, fixture } = PLATFORMS[platform];
  const args = [
    "--conditions=@halyard/source",
    new URL(`fixtures/channels/${fixture}`, import.meta.url).pathname,
  ];
  // Without a broker, one server stands for both.
  const programs = await Promise.all(
    Array.from({ length: env["BUS"] ? 2 : 1 }, () => spawnProgram({ command: command(), args, env })),
  );
  const [first, second = first] = programs.map(({ port }) => `ws://127.0.0.1:${port}`);
  return {
    urls: [first ?? "", second ?? ""],
    stop: () => Promise.all(programs.map((program) => program.kill())),
  };
}

for (const platform of ["Node", "Bun"] as const) {
  channelContract(`${platform}, in memory`, () => start(platform, {}));
  channelContract(`${platform}, over Redis`, () =>
    start(platform, { BUS: "redis", BUS_URL: redis.url, BUS_PREFIX: `${redis.prefix}:${++count}:` }),
  );
  channelContract(
    `${platform}, over NATS`,
    () => start(platform, { BUS: "nats", BUS_URL: nats.url, BUS_PREFIX: `${nats.prefix}.${++count}.` }),
    { history: false },
  );
  channelContract(`${platform}, over a Redis Cluster`, async () => {
    cluster ??= startRedisCluster({ masters: 3 });
    const { urls } = await cluster;
    return start(platform, { BUS: "cluster", BUS_URL: urls.join(","), BUS_PREFIX: `c${++count}:` });
  });
}
afterAll(async () => (await cluster)?.stop());

test("a channel with history over NATS is refused when it is registered, with the remedy", async () => {
  const connection = await connect({ servers: nats.url });
  const pubsub = natsPubSub(connection, { prefix: `${nats.prefix}.${++count}.` });
  const router = createRouter({ pubsub });
  expect(() => router.channel(Kept, { authorize: () => true })).toThrow(/history.*redisPubSub/s);
  await pubsub.close();
  await connection.close();
});
