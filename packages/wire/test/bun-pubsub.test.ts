/** Pub/sub and rate limits on Bun: the engine's own pub/sub, and Redis with Bun's client. */
import { bunPath, createRedisPrefix, type Program, spawnProgram, startRedis } from "@halyard/services";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { brokerContract } from "./contract/broker.ts";
import { pubsubContract } from "./contract/pubsub.ts";
import { connectRemote, type Remote } from "./fixtures/remote/connect.ts";

const { url, prefix } = await createRedisPrefix();
const remotes: Remote[] = [];
const programs: Program[] = [];

async function start(name: string, env: Record<string, string> = {}): Promise<Program> {
  const args = ["--conditions=@halyard/source", fixture(name)];
  const program = await spawnProgram({ command: bunPath(), args, env });
  programs.push(program);
  return program;
}

async function open(program: Program): Promise<Remote> {
  const remote = await connectRemote(program.port);
  remotes.push(remote);
  return remote;
}

let native: Program;
let redis: Program;
beforeAll(async () => {
  native = await start("bun-native.ts");
  redis = await start("bun-redis.ts", { REDIS: url, PREFIX: `${prefix}:`, CAPACITY: "50", RATE: "0.001" });
});
afterEach(() => {
  for (const remote of remotes.splice(0)) remote.hangUp();
});
afterAll(() => Promise.all(programs.map((program) => program.kill())));

pubsubContract(
  "Bun's engine",
  async () => {
    const pubsub = await open(native);
    return { near: pubsub, far: pubsub, stop: async () => pubsub.close() };
  },
  { excludesSender: false },
);

pubsubContract("Redis, by Bun's client", async () => {
  const [near, far] = [await open(redis), await open(redis)];
  return { near, far, stop: async () => void (await Promise.all([near.close(), far.close()])) };
});

brokerContract("Redis, by Bun's client", async () => {
  const server = await startRedis();
  const program = await start("bun-redis.ts", { REDIS: server.url, PREFIX: "halyard:" });
  const write = async (channel: string, text: string) => {
    const client = await createClient({ url: server.url })
      .on("error", () => {})
      .connect();
    await client.publish(channel, text);
    client.destroy();
  };
  return {
    server,
    open: () => open(program),
    write: (topic, text) => write(`halyard:t:${topic}`, text),
    writeHeartbeat: (text) => write("halyard:h", text),
    stop: () => server.stop(),
  };
});

test("200 concurrent callers of a limiter in Redis with Bun's client get no more than the bucket holds", async () => {
  const remote = await open(redis);
  const verdicts = await Promise.all(Array.from({ length: 200 }, () => remote.consume("k", 1)));
  expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(50);
});

function fixture(name: string): string {
  return new URL(`fixtures/remote/${name}`, import.meta.url).pathname;
}
