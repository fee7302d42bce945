/** The contract of a bus, over topics of the pub/subs. */
import { type Bus, pubSubBus } from "@halyard/base";
import { createNatsPrefix, createRedisPrefix } from "@halyard/services";
import { connect } from "@nats-io/transport-node";
import { createClient } from "redis";
import { onTestFinished } from "vitest";
import { type BrittleServer, busSuite, outageSuite } from "../../base/test/contract/bus.ts";
import { memoryPubSub } from "../src/memory.ts";
import { natsPubSub } from "../src/nats.ts";
import type { PubSub } from "../src/pubsub/pubsub.ts";
import { redisPubSub } from "../src/redis.ts";

function busOver(pubsub: PubSub): Bus {
  onTestFinished(() => pubsub.close());
  return pubSubBus(pubsub, "$announcements");
}

busSuite("the pub/sub in memory", async () => {
  const pubsub = memoryPubSub();
  return { connect: async () => busOver(pubsub) };
});

async function startRedis(): Promise<BrittleServer> {
  const { url, prefix } = await createRedisPrefix();
  const other = await createClient({ url })
    .on("error", () => {})
    .connect();
  onTestFinished(() => other.destroy());
  return {
    // It reports a gap once it is connected again.
    tellsLoss: false,
    connect: async () => busOver(redisPubSub(createClient({ url, name: prefix }), { prefix })),
    unreachable: async () => busOver(redisPubSub(createClient({ url: "redis://127.0.0.1:1" }), { prefix })),
    async cut() {
      const list = await other.sendCommand<string>(["CLIENT", "LIST", "TYPE", "pubsub"]);
      for (const line of list.split("\n").filter((text) => text.includes(` name=${prefix} `))) {
        await other.sendCommand(["CLIENT", "KILL", "ID", /^id=(\d+)/.exec(line)?.[1] ?? ""]);
      }
    },
  };
}

busSuite("the pub/sub on Redis", startRedis);
outageSuite("the pub/sub on Redis", startRedis);

busSuite("the pub/sub on NATS", async () => {
  const { url, prefix } = await createNatsPrefix();
  return {
    async connect() {
      const connection = await connect({ servers: url });
      onTestFinished(() => connection.close());
      return busOver(natsPubSub(connection, { prefix: `${prefix}.bus.` }));
    },
  };
});
