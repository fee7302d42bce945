/** The interface of rate limiting: rules, quotas, principals and verdicts. */

/**
 * Every principal has one bucket per rule. `console` counts requests of `@halyard/console`. `off` is the reserve for disabling a flag. `credentials` counts sessions and
 * API keys that were not valid, `monitoring` the requests with credentials to health and metrics; both by address.
 */
export type LimitRule =
  | "evaluate"
  | "evaluate-batch"
  | "bootstrap"
  | "bootstrap-anonymous"
  | "events"
  | "events-batch"
  | "admin"
  | "console"
  | "off"
  | "credentials"
  | "monitoring";

/** How many requests a bucket permits in a window, which starts with the first request. */
export type RateLimitQuota = { readonly max: number; readonly windowSeconds: number };

/** The owner of a bucket. `nobody`: callers without a known address, who share one bucket. */
export type LimitPrincipal =
  | { readonly kind: "user" | "key" | "address"; readonly id: string }
  | { readonly kind: "nobody" };

export type LimitVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

export interface Limits {
  /** Counts a request. Synchronous unless it has to wait for the shared store. Never rejects. */
  consume(rule: LimitRule, principal: LimitPrincipal): LimitVerdict | Promise<LimitVerdict>;
  /** The verdict on a further request, as far as this process knows, without counting it. */
  peek(rule: LimitRule, principal: LimitPrincipal): LimitVerdict;
  close(): Promise<void>;
}
