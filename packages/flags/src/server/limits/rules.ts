/** The rate-limit rules that operations name, and how many calls each allows. */
import { mistake } from "../help.ts";
import type { LimitPrincipal, LimitRule, RateLimitQuota } from "./limits.ts";

const PER_MINUTE = 60;

export const DEFAULT_QUOTAS: Readonly<Record<LimitRule, RateLimitQuota>> = {
  evaluate: { max: 100, windowSeconds: PER_MINUTE },
  "evaluate-batch": { max: 1000, windowSeconds: PER_MINUTE },
  bootstrap: { max: 100, windowSeconds: PER_MINUTE },
  "bootstrap-anonymous": { max: 1000, windowSeconds: PER_MINUTE },
  events: { max: 1000, windowSeconds: PER_MINUTE },
  "events-batch": { max: 100, windowSeconds: PER_MINUTE },
  admin: { max: 20, windowSeconds: PER_MINUTE },
  console: { max: 600, windowSeconds: PER_MINUTE },
  off: { max: 20, windowSeconds: PER_MINUTE },
  credentials: { max: 100, windowSeconds: PER_MINUTE },
  monitoring: { max: 1000, windowSeconds: PER_MINUTE },
};

/** The rules that an operation can name. The others follow from the request and its caller. */
export type OperationRule = Exclude<
  LimitRule,
  "console" | "off" | "bootstrap-anonymous" | "credentials" | "monitoring"
>;

/** Anonymous callers share an address with others, so their bootstraps have a larger limit. */
export function ruleFor(rule: OperationRule, principal: LimitPrincipal): LimitRule {
  const isKnown = principal.kind === "user" || principal.kind === "key";
  return rule === "bootstrap" && !isKnown ? "bootstrap-anonymous" : rule;
}

/** The quota of a rule for a kind of caller; undefined for no limit. */
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
    throw mistake(`${name}.${field} is ${value}. Give a whole number from 1, or false.`);
  }
  return { max, windowSeconds };
}
