/** Counting in Redis: one script, on one key, by the clock of Redis alone. */
import type { RateLimitStore } from "./store.ts";

/** The part of ioredis that is used; its clusters have it, too. */
export interface IoRedisClient {
  call(command: string, ...args: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** The part of node-redis that is used; its clusters have it, too. */
export interface NodeRedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The part of Bun's own client that is used. */
export interface BunRedisClient {
  send(command: string, args: string[]): Promise<unknown>;
}

export type RateLimitRedisClient = NodeRedisClient | IoRedisClient | BunRedisClient;

export type RedisRateLimitOptions = {
  /** What the names of all keys begin with. Defaults to `halyard:flags:limit:`. */
  prefix?: string | undefined;
};

/** Gives up to ARGV[1] of the ARGV[2] tokens that a window of ARGV[3] ms has, and says when it ends. */
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
 * Rate limits that all processes with the same Redis keep together. The client is one of node-redis, ioredis or Bun,
 * connected and closed by you.
 *
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
      const answered = await run(`${prefix}${bucket}`, [tokens, max, windowSeconds * 1000].map(String));
      const [granted, resetMs] = Array.isArray(answered) ? answered.map(Number) : [];
      if (granted === undefined || resetMs === undefined) {
        throw new TypeError("Redis did not answer the script of the rate limits with two numbers.");
      }
      return { granted, resetMs };
    },
  };
}

type Runner = (key: string, args: string[]) => Promise<unknown>;

function runnerOf(client: RateLimitRedisClient): Runner {
  // All three have `eval`, each with arguments of its own; only Bun's has `send`, and only ioredis `call`.
  if ("send" in client) return (key, args) => client.send("EVAL", [TAKE, "1", key, ...args]);
  if ("call" in client) return (key, args) => client.eval(TAKE, 1, key, ...args);
  if ("eval" in client) return (key, args) => client.eval(TAKE, { keys: [key], arguments: args });
  throw new TypeError(
    "redisRateLimitStore: the client is none of node-redis, ioredis or Bun. Give one of these, or write a RateLimitStore.",
  );
}
