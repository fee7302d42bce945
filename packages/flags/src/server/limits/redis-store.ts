/** A rate limit store on Redis: one script on one key, with the clock of Redis. */
import {
  type BunRedisScripts,
  type IoredisScripts,
  type NodeRedisScripts,
  type ScriptRunner,
  scriptRunner,
} from "@halyard/base/redis";
import type { RateLimitStore } from "./store.ts";

/** A client of node-redis, ioredis or Bun. */
export type RateLimitRedisClient = NodeRedisScripts | IoredisScripts | BunRedisScripts;

/** The options of `redisRateLimitStore`. */
export type RedisRateLimitOptions = {
  /** Prefix of all keys. Default `halyard:flags:limit:`. */
  prefix?: string | undefined;
};

/** Grants up to ARGV[1] of the ARGV[2] tokens of a window of ARGV[3] ms, and returns its remaining time. */
const TAKE = `
local window = tonumber(ARGV[3])
local left = redis.call('PTTL', KEYS[1])
local used = 0
if left > 0 then used = tonumber(redis.call('GET', KEYS[1])) else left = window end
local granted = math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - used)
if granted <= 0 then return { 0, left } end
if used == 0 then redis.call('SET', KEYS[1], granted, 'PX', window)
else redis.call('INCRBY', KEYS[1], granted) end
return { granted, left }
`;

/**
 * Creates a store for rate limits that all processes with the same Redis share. The client is one of node-redis, ioredis
 * or Bun; the application connects and closes it.
 *
 * @example
 * ```ts
 * import { featureFlags } from "@halyard/flags";
 * import { redisRateLimitStore } from "@halyard/flags/redis";
 *
 * declare const client: import("@halyard/flags/redis").RateLimitRedisClient;
 * featureFlags({ rateLimit: { store: redisRateLimitStore(client) } });
 * ```
 */
export function redisRateLimitStore(
  client: RateLimitRedisClient,
  { prefix = "halyard:flags:limit:" }: RedisRateLimitOptions = {},
): RateLimitStore {
  const run = runnerOf(client);
  return {
    async take(bucket, tokens, { max, windowSeconds }) {
      const reply = await run([`${prefix}${bucket}`], [tokens, max, windowSeconds * 1000].map(String));
      const [granted, resetMs] = Array.isArray(reply) ? reply.map(Number) : [];
      if (granted === undefined || resetMs === undefined) {
        throw new TypeError(
          `Redis replied ${JSON.stringify(reply)} to the rate limit script instead of two numbers. Check that the client returns arrays.`,
        );
      }
      return { granted, resetMs };
    },
  };
}

function runnerOf(client: RateLimitRedisClient): ScriptRunner {
  const run = scriptRunner(client, TAKE);
  if (run !== undefined) return run;
  throw new TypeError(
    "redisRateLimitStore: the client is not from node-redis, ioredis or Bun. Pass one of these, or implement RateLimitStore.",
  );
}
