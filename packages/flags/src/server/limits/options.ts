/** The option `rateLimit`. */
import type { LimitRule, RateLimitQuota } from "./limits.ts";
import type { RateLimitStore } from "./store.ts";

/** `false` turns all limits off. */
export type FeatureFlagsRateLimit =
  | false
  | {
      /**
       * Limits that replace the built-in ones, for each rule and caller. `false` removes a limit. `console` is for
       * `@halyard/console`, `off` is the reserve for disabling a flag, `credentials` limits invalid sessions and API keys of an address, `monitoring` its requests with
       * credentials to health and metrics. Default: the built-in limits, such as 100 evaluations in 60 s.
       */
      rules?: { [Rule in LimitRule]?: RateLimitQuota | false | undefined } | undefined;
      /** A limit for each rule and each API key that server code made. Default: these keys have no limit. */
      keys?: RateLimitQuota | undefined;
      /**
       * The store in which several processes count together. Default: the secondary storage of Better Auth if the host
       * has one, else the memory of each process.
       */
      store?: RateLimitStore | undefined;
    };
