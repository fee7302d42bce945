/** A rate limiter with token buckets in Redis, shared by all processes. One script per call makes it atomic. */
import { within } from "@halyard/base";
import { type ScriptRunner, scriptRunner } from "@halyard/base/redis";
import { WsError } from "../protocol/error.ts";
import {
  checkBucket,
  checkCost,
  type RateLimiter,
  type RateLimitVerdict,
  type TokenBucket,
} from "./rate-limiter.ts";

/** A client of redis (node-redis), ioredis or Bun; with the first two also a cluster or Sentinel client. */
export interface RedisScriptClient {
  /** Runs a Lua script. */
  eval(...args: never[]): unknown;
}

/** The options of `redisRateLimiter()`. */
export interface RedisRateLimiterOptions {
  /** Prefix of every key. Limiters that share a Redis need different prefixes. Default `halyard:rate:`. */
  readonly prefix?: string;
  /** How long Redis may take to reply, in ms; then the message is refused with `UNAVAILABLE`. Default 2,000. */
  readonly replyTimeoutMs?: number;
}

/**
 * Uses the clock of Redis, so that clock skew between processes has no effect. Numbers are stored with full precision.
 * A full bucket expires after a minute.
 */
const SCRIPT = `
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'filledAt')
local had, filledAt = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
if now < filledAt then now = filledAt end
local function at(time) return math.min(capacity, had + (time - filledAt) * rate / 1000) end
local tokens = at(now)
if cost > capacity then return {0, math.floor(tokens), -1} end
if cost > tokens then
  local wait = math.ceil((cost - tokens) * 1000 / rate)
  if at(now + wait) < cost then wait = wait + 1 end
  return {0, math.floor(tokens), wait}
end
local left = tokens - cost
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', left), 'filledAt', string.format('%.17g', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - left) * 1000 / rate) + 60000)
return {1, math.floor(left), 0}
`;

const DEFAULT_PREFIX = "halyard:rate:";
const DEFAULT_REPLY_TIMEOUT_MS = 2_000;
/** A disconnected client queues commands; above this many, no further commands are sent. */
const MAX_PENDING = 10_000;

/** Created by `redisRateLimiter()`. */
export class RedisRateLimiter implements RateLimiter {
  readonly capacity: number;
  readonly #tokensPerSecond: number;
  readonly #prefix: string;
  readonly #replyTimeoutMs: number;
  readonly #run: ScriptRunner;
  readonly #now: (() => number) | undefined;
  #pending = 0;

  /** `now` replaces the clock of Redis, in ms; for tests. */
  constructor(
    client: RedisScriptClient,
    bucket: TokenBucket,
    options: RedisRateLimiterOptions = {},
    now?: () => number,
  ) {
    checkBucket(bucket);
    this.capacity = bucket.capacity;
    this.#tokensPerSecond = bucket.tokensPerSecond;
    this.#prefix = options.prefix ?? DEFAULT_PREFIX;
    this.#replyTimeoutMs = options.replyTimeoutMs ?? DEFAULT_REPLY_TIMEOUT_MS;
    this.#run = runnerOf(client);
    this.#now = now;
  }

  /** Rejects with `UNAVAILABLE` when Redis does not reply, so that the message is refused. */
  async consume(key: string, cost: number): Promise<RateLimitVerdict> {
    checkCost(cost);
    const args = [this.capacity, this.#tokensPerSecond, cost, this.#now?.() ?? ""].map(String);
    try {
      if (this.#pending >= MAX_PENDING) throw new Error(`Redis has not replied to ${MAX_PENDING} commands.`);
      return toVerdict(await this.#inTime(this.#run([this.#prefix + key], args)));
    } catch (cause) {
      throw new WsError("UNAVAILABLE", "The rate limit could not be checked. Retry later.", undefined, {
        cause,
      });
    }
  }

  #inTime(reply: Promise<unknown>): Promise<unknown> {
    this.#pending++;
    const settled = reply.finally(() => this.#pending--);
    return within(settled, this.#replyTimeoutMs, `Redis did not reply within ${this.#replyTimeoutMs} ms.`);
  }
}

function runnerOf(client: RedisScriptClient): ScriptRunner {
  const run = scriptRunner(client, SCRIPT);
  if (run !== undefined) return run;
  throw new TypeError(
    "redisRateLimiter() does not support this client. Pass one made by redis (createClient, createCluster, createSentinel), ioredis (Redis, Cluster) or Bun (RedisClient).",
  );
}

function toVerdict(reply: unknown): RateLimitVerdict {
  const [allowed, remaining, waitMs] = Array.isArray(reply) ? reply.map(Number) : [];
  if (remaining === undefined || waitMs === undefined)
    throw new Error("The reply of Redis is not that of the rate limit script.");
  return { allowed: allowed === 1, remaining, retryAfterMs: waitMs === -1 ? null : waitMs };
}

/**
 * Creates a rate limiter that all processes share. It uses the client directly, so connect the client first.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { rateLimit } from "@halyard/wire/middleware";
 * import { redisRateLimiter } from "@halyard/wire/redis";
 * import { createClient } from "redis";
 *
 * const client = await createClient({ url: "redis://localhost:6379" }).connect();
 * const limiter = redisRateLimiter(client, { capacity: 20, tokensPerSecond: 5 });
 * const router = createRouter().use(rateLimit({ limiter, key: "user" }));
 * ```
 */
export function redisRateLimiter(
  client: RedisScriptClient,
  bucket: TokenBucket,
  options?: RedisRateLimiterOptions,
): RedisRateLimiter {
  return new RedisRateLimiter(client, bucket, options);
}
