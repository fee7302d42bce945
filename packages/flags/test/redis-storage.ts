/** Opens a connection to Redis, and a secondary storage for Better Auth on it. */
import type { BetterAuthOptions } from "better-auth";
import { createClient } from "redis";

/** The client reconnects. An error event must not end the test process. */
export function connectRedis(url: string) {
  return createClient({ url })
    .on("error", () => {})
    .connect();
}

type Storage = NonNullable<BetterAuthOptions["secondaryStorage"]>;

export function redisStorage(client: Awaited<ReturnType<typeof connectRedis>>, prefix: string): Storage {
  return {
    get: (key) => client.get(prefix + key),
    set: (key, value, ttl) => client.set(prefix + key, value, ttl ? { EX: ttl } : {}),
    delete: async (key) => {
      await client.del(prefix + key);
    },
    getAndDelete: (key) => client.getDel(prefix + key),
    async increment(key, ttl) {
      const [count] = await client
        .multi()
        .incr(prefix + key)
        .expire(prefix + key, ttl, "NX")
        .exec();
      return Number(count);
    },
  };
}
