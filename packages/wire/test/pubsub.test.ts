import { memoryPubSub } from "../src/memory.ts";
import { pubsubContract } from "./contract/pubsub.ts";

pubsubContract("memory", async () => {
  const pubsub = memoryPubSub();
  return { near: pubsub, far: pubsub, stop: async () => pubsub.close() };
});
