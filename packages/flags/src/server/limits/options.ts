/** What a host can set about rate limits. */
import type { LimitRule } from "./limits.ts";
import type { RateLimitQuota } from "./rules.ts";
import type { RateLimitStore } from "./store.ts";

/** `false` turns all limits off. */
export type FeatureFlagsRateLimit =
  | false
  | {
      /**
       * Limits in place of the built-in ones, each for one rule and one caller; `false` takes one away. `off` is the
       * reserve for turning a flag off.
       */
      rules?: { [Rule in LimitRule]?: RateLimitQuota | false | undefined } | undefined;
      /** A limit for each server key and rule. Without it, keys have none. */
      keys?: RateLimitQuota | undefined;
      /**
       * Where several processes count together. Defaults to the secondary storage of Better Auth where the host has
       * one, else to the memory of each process.
       */
      store?: RateLimitStore | undefined;
      /** How long, in ms, a call may wait for the store before this process counts by itself. Defaults to 100. */
      maxWaitMs?: number | undefined;
    };
