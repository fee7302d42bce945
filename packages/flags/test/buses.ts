/** Every kind of bus between processes, for suites that run over each of them. */
import { type FeatureFlagsBus, postgresBus } from "@halyard/flags";
import { redisBus } from "@halyard/flags/redis";
import { createRedisPrefix } from "@halyard/services";
import { redisPubSub } from "@halyard/wire/redis";
import { onTestFinished } from "vitest";
import type { FreshPostgres } from "./databases.ts";
import { connectRedis } from "./redis-storage.ts";

/** Creates the bus of another process. */
export type OpenBus = () => Promise<FeatureFlagsBus>;

export const BUSES: readonly { name: string; prepare(db: FreshPostgres): Promise<OpenBus> }[] = [
  {
    name: "PostgreSQL",
    prepare: async (db) => async () => {
      const { database, close } = db.connect({ max: 2 });
      onTestFinished(close);
      return postgresBus(database);
    },
  },
  {
    name: "Redis",
    async prepare() {
      const { url, prefix } = await createRedisPrefix();
      return async () => {
        const client = await connectRedis(url);
        onTestFinished(() => client.destroy());
        return redisBus(client, { channel: `${prefix}flags` });
      };
    },
  },
  {
    name: "the pub/sub of wire",
    async prepare() {
      const { url, prefix } = await createRedisPrefix();
      return async () => {
        const client = await connectRedis(url);
        const pubsub = redisPubSub(client, { prefix });
        onTestFinished(async () => {
          await pubsub.close();
          client.destroy();
        });
        return pubsub;
      };
    },
  },
];
