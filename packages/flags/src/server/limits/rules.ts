/** Which rule an operation counts against, and how much each rule allows. */
import type { Routed } from "../endpoints.ts";
import type { LimitPrincipal, LimitRule } from "./limits.ts";

/** How many calls a bucket allows in a window that starts with its first. */
export type RateLimitQuota = { readonly max: number; readonly windowSeconds: number };

const PER_MINUTE = 60;

export const DEFAULT_QUOTAS: Readonly<Record<LimitRule, RateLimitQuota>> = {
  evaluate: { max: 100, windowSeconds: PER_MINUTE },
  "evaluate-batch": { max: 1000, windowSeconds: PER_MINUTE },
  bootstrap: { max: 100, windowSeconds: PER_MINUTE },
  "bootstrap-anonymous": { max: 1000, windowSeconds: PER_MINUTE },
  events: { max: 1000, windowSeconds: PER_MINUTE },
  "events-batch": { max: 100, windowSeconds: PER_MINUTE },
  admin: { max: 20, windowSeconds: PER_MINUTE },
  off: { max: 20, windowSeconds: PER_MINUTE },
};

/** `off` and `bootstrap-anonymous` are no operation's own: what is asked, and by whom, makes it one of these. */
export type OperationRule = Exclude<LimitRule, "off" | "bootstrap-anonymous">;

/**
 * The rule of every operation that has a URL; a new one must be given its own here. `none`: whoever watches the
 * service must not be turned away when it is busy.
 */
export const RULE_OF: Readonly<Record<Routed, OperationRule | "none">> = {
  evaluateFeatureFlag: "evaluate",
  evaluateFeatureFlags: "evaluate-batch",
  bootstrapFeatureFlags: "bootstrap",
  createFeatureFlagEvent: "events",
  createFeatureFlagEventBatch: "events-batch",
  evaluateOfrepFlagRoute: "evaluate",
  evaluateOfrepFlagsRoute: "bootstrap",
  getFeatureFlagsHealth: "none",
  getFeatureFlagsReadiness: "none",
  getFeatureFlagsMetrics: "none",

  listFeatureFlags: "admin",
  createFeatureFlag: "admin",
  getFeatureFlagRoute: "admin",
  updateFeatureFlagRoute: "admin",
  deleteFeatureFlagRoute: "admin",
  explainFeatureFlag: "admin",
  getFeatureFlagStats: "admin",
  getFeatureFlagUsage: "admin",

  listFeatureFlagRules: "admin",
  createFeatureFlagRuleRoute: "admin",
  updateFeatureFlagRuleRoute: "admin",
  deleteFeatureFlagRuleRoute: "admin",

  listFeatureFlagOverrides: "admin",
  createFeatureFlagOverride: "admin",
  deleteFeatureFlagOverrideRoute: "admin",

  listFeatureFlagSegments: "admin",
  createFeatureFlagSegment: "admin",
  getFeatureFlagSegment: "admin",
  updateFeatureFlagSegment: "admin",
  deleteFeatureFlagSegment: "admin",

  listFeatureFlagAuditEntries: "admin",
};

/** Whoever bootstraps without being known shares an address with others, and gets the larger limit for it. */
export function ruleFor(rule: OperationRule, principal: LimitPrincipal): LimitRule {
  const isKnown = principal.kind === "user" || principal.kind === "key";
  return rule === "bootstrap" && !isKnown ? "bootstrap-anonymous" : rule;
}

/** What is allowed to whom; undefined is without a limit. */
export type QuotaOf = (rule: LimitRule, kind: LimitPrincipal["kind"]) => RateLimitQuota | undefined;

export interface QuotaOptions {
  readonly rules?: { readonly [Rule in LimitRule]?: RateLimitQuota | false | undefined } | undefined;
  readonly keys?: RateLimitQuota | undefined;
}

export function createQuotas({ rules = {}, keys }: QuotaOptions = {}): QuotaOf {
  const quotas = new Map<LimitRule, RateLimitQuota>();
  for (const [name, standard] of Object.entries(DEFAULT_QUOTAS)) {
    const rule = name as LimitRule;
    const quota = rules[rule] ?? standard;
    if (quota !== false) quotas.set(rule, checked(`rateLimit.rules["${rule}"]`, quota));
  }
  if (keys !== undefined) checked("rateLimit.keys", keys);
  return (rule, kind) => (kind === "key" && rule !== "off" ? keys : quotas.get(rule));
}

function checked(name: string, { max, windowSeconds }: RateLimitQuota): RateLimitQuota {
  for (const [field, value] of Object.entries({ max, windowSeconds })) {
    if (Number.isSafeInteger(value) && value >= 1) continue;
    throw new TypeError(`featureFlags: ${name}.${field} is ${value}. Give a whole number from 1, or false.`);
  }
  return { max, windowSeconds };
}
