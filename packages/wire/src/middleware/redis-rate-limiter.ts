/** Token buckets in Redis, shared by all processes: one script per call, so that no two callers get the same token. */
import { WsError } from "../protocol/error.ts";
import {
  checkBucket,
  checkCost,
  type RateLimiter,
  type RateLimitVerdict,
  type TokenBucket,
} from "./rate-limiter.ts";
import { type RedisScriptClient, scriptRunner } from "./redis-script.ts";

export interface RedisRateLimiterOptions {
  /** Begins the name of every key. Limiters that share a Redis need different ones. Default `halyard:rate:`. */
  readonly prefix?: string;
  /** How long Redis may take to answer; after that the message is refused with `UNAVAILABLE`. Default 2,000. */
  readonly replyTimeoutMs?: number;
}

/**
 * Time is that of Redis, so that the clocks of the processes do not matter. Numbers are kept with all their digits.
 * A bucket that is full again is forgotten a minute later.
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
/** A client that is cut off keeps what it was asked; more than this is not asked of it. */
const MAX_UNANSWERED = 10_000;

export class RedisRateLimiter implements RateLimiter {
  readonly capacity: number;
  readonly #tokensPerSecond: number;
  readonly #prefix: string;
  readonly #replyTimeoutMs: number;
  readonly #run: (key: string, args: readonly string[]) => Promise<unknown>;
  readonly #now: (() => number) | undefined;
  #unanswered = 0;

  /** `now` replaces the time of Redis, in ms. */
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
    this.#run = scriptRunner(client, SCRIPT);
    this.#now = now;
  }

  /** Rejects with `UNAVAILABLE` when Redis does not answer: then nobody knows, and the message is not let through. */
  async consume(key: string, cost: number): Promise<RateLimitVerdict> {
    checkCost(cost);
    const args = [this.capacity, this.#tokensPerSecond, cost, this.#now?.() ?? ""].map(String);
    let reply: unknown;
    try {
      if (this.#unanswered >= MAX_UNANSWERED)
        throw new Error(`Redis has left ${MAX_UNANSWERED} questions unanswered.`);
      reply = await this.#inTime(this.#run(this.#prefix + key, args));
    } catch (cause) {
      throw new WsError("UNAVAILABLE", "The rate limit could not be checked.", undefined, { cause });
    }
    return toVerdict(reply);
  }

  #inTime(reply: Promise<unknown>): Promise<unknown> {
    this.#unanswered++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`Redis did not answer within ${this.#replyTimeoutMs} ms.`)),
        this.#replyTimeoutMs,
      );
      (timer as { unref?: () => void }).unref?.();
      reply.then(resolve, reject).finally(() => {
        this.#unanswered--;
        clearTimeout(timer);
      });
    });
  }
}

function toVerdict(reply: unknown): RateLimitVerdict {
  const [allowed, remaining, waitMs] = Array.isArray(reply) ? reply.map(Number) : [];
  if (remaining === undefined || waitMs === undefined) {
    throw new WsError("UNAVAILABLE", "The rate limit could not be checked.", undefined, {
      cause: new Error("Redis gave an answer that is not the script's."),
    });
  }
  return { allowed: allowed === 1, remaining, retryAfterMs: waitMs === -1 ? null : waitMs };
}

/**
 * A rate limiter for all processes together. The client is used as it is: connect it first.
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
