/** A connection to Redis, and a secondary storage of Better Auth on it, as a host would have one. */
import type { BetterAuthOptions } from "better-auth";
import { createClient } from "redis";

/** One that is lost is made again; nobody's test ends because of it. */
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
