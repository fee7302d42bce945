/** Makes the limits of an auth instance from the plugin's option and from what its host has set. */
import type { AuthContext } from "@better-auth/core";
import type { Meter } from "../meter.ts";
import type { Limits } from "./limits.ts";
import { createMemoryLimits, NO_LIMITS } from "./memory-limits.ts";
import type { FeatureFlagsRateLimit } from "./options.ts";
import { createQuotas } from "./rules.ts";
import { createSecondaryStore } from "./secondary-store.ts";
import { createSharedLimits } from "./shared-limits.ts";
import type { RateLimitStore } from "./store.ts";

const MAX_WAIT_MS = 100;

/** The part of Better Auth's context that is looked at. */
export type LimitsContext = Pick<AuthContext, "options" | "rateLimit" | "secondaryStorage">;

export interface LimitsHost {
  readonly context: LimitsContext;
  readonly meter: Pick<Meter, "observe">;
  readonly warn: (message: string, error: unknown) => void;
  readonly warnOnce: (message: string) => void;
}

/** Checks the option at once; the limits are made for each auth instance. */
export function prepareLimits(option: FeatureFlagsRateLimit | undefined): (host: LimitsHost) => Limits {
  if (option === false) return () => NO_LIMITS;
  const { rules, keys, maxWaitMs = MAX_WAIT_MS } = option ?? {};
  const quotaOf = createQuotas({ rules, keys });
  if (!(maxWaitMs >= 1)) {
    throw new TypeError(`featureFlags: rateLimit.maxWaitMs is ${maxWaitMs}. Give a number from 1.`);
  }
  return ({ context, meter, warn, warnOnce }) => {
    if (!context.rateLimit.enabled) return NO_LIMITS;
    const store = storeOf(option, context);
    if (store === undefined) return createMemoryLimits({ quotaOf, warnOnce });
    const limits = createSharedLimits({ quotaOf, store, maxWaitMs, warn, warnOnce });
    const help = "1 while the shared store of the rate limits fails and this process counts by itself.";
    meter.observe("rate_limit_store_down", help, () => (limits.isAlone ? 1 : 0));
    return limits;
  };
}

function storeOf(
  option: Exclude<FeatureFlagsRateLimit, false> | undefined,
  context: LimitsContext,
): RateLimitStore | undefined {
  if (option?.store !== undefined) return option.store;
  const { secondaryStorage } = context;
  if (secondaryStorage === undefined || !canCount(secondaryStorage)) return undefined;
  return context.options.rateLimit?.storage === "memory" ? undefined : createSecondaryStore(secondaryStorage);
}

/** Storages written for older versions of Better Auth cannot. */
function canCount(storage: object): boolean {
  return "increment" in storage && typeof storage.increment === "function";
}

/** What a host should know at its start, in production. */
export function limitsAdvice(
  option: FeatureFlagsRateLimit | undefined,
  context: LimitsContext,
  hasBus: boolean,
): string | undefined {
  if (option === false || !context.rateLimit.enabled) {
    return "Rate limits are off: one caller can use up this server. Set rateLimit, unless something before this server limits requests.";
  }
  if (storeOf(option, context) !== undefined) return undefined;
  if (!hasBus && context.secondaryStorage === undefined) return undefined;
  return "Rate limits are counted in memory, so each process allows the full limit. Set rateLimit.store, or give Better Auth a secondaryStorage that has increment.";
}
