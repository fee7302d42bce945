/** Creates the limits of an auth instance from the option `rateLimit` and the settings of Better Auth. */
import type { AuthContext } from "@better-auth/core";
import { isProduction } from "@better-auth/core/env";
import type { Meter } from "../metrics/meter.ts";
import { type HostRateLimit, withoutPluginPaths } from "./host.ts";
import type { Limits } from "./limits.ts";
import { MemoryLimits } from "./memory-limits.ts";
import type { FeatureFlagsRateLimit } from "./options.ts";
import { createQuotas } from "./rules.ts";
import { createSecondaryStore } from "./secondary-store.ts";
import { SharedLimits } from "./shared-limits.ts";
import type { RateLimitStore } from "./store.ts";

/** A store that takes this long counts as failed. Until then it is only slow, and the limit stays shared. */
const MAX_WAIT_MS = 2000;

/** The part of Better Auth's context that is used. */
export type LimitsContext = Pick<AuthContext, "options" | "rateLimit" | "secondaryStorage">;

export interface LimitsHost {
  readonly context: LimitsContext;
  readonly meter: Pick<Meter, "observe">;
  readonly warn: (message: string, error: unknown) => void;
  readonly warnOnce: (message: string) => void;
}

/** Creates the limits of one auth instance; undefined when rate limits are off. */
export type LimitsFactory = (host: LimitsHost) => Limits | undefined;

/** Validates the option immediately. */
export function prepareLimits(
  option: FeatureFlagsRateLimit | undefined,
  maxWaitMs: number = MAX_WAIT_MS,
): LimitsFactory {
  if (option === false) return () => undefined;
  const { rules, keys } = option ?? {};
  const quotaOf = createQuotas({ rules, keys });
  return ({ context, meter, warn, warnOnce }) => {
    if (!context.rateLimit.enabled) return undefined;
    const store = storeOf(option, context);
    if (store === undefined) return new MemoryLimits({ quotaOf, warnOnce });
    const limits = new SharedLimits({ quotaOf, store, maxWaitMs, warn, warnOnce });
    const help = "1 while the shared store of the rate limits fails and this process counts alone.";
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

/** Storages for older versions of Better Auth have no `increment`. */
function canCount(storage: object): boolean {
  return "increment" in storage && typeof storage.increment === "function";
}

/** The warning to log at startup in production, if any. */
export function limitsAdvice(
  option: FeatureFlagsRateLimit | undefined,
  context: LimitsContext,
  hasBus: boolean,
): string | undefined {
  if (option === false || !context.rateLimit.enabled) {
    return "Rate limits are off: one caller can overload this server. Set rateLimit, unless a proxy limits requests.";
  }
  if (storeOf(option, context) !== undefined) return undefined;
  if (!hasBus && context.secondaryStorage === undefined) return undefined;
  return "Rate limits are counted in memory, so each process permits the full limit. Set rateLimit.store, or give Better Auth a secondaryStorage with increment.";
}

/** The change of Better Auth's context at startup. */
export type LimitsInit = { context: { rateLimit: HostRateLimit } };

export function initLimits(
  option: FeatureFlagsRateLimit | undefined,
  context: AuthContext,
  hasBus: boolean,
): LimitsInit {
  const advice = isProduction ? limitsAdvice(option, context, hasBus) : undefined;
  if (advice !== undefined) context.logger.warn(`[feature-flags] ${advice}`);
  return { context: { rateLimit: withoutPluginPaths(context.rateLimit) } };
}
