/** The seam of rate limiting: who is counted, by which rule, and what they are told. */

/** Each has a bucket of its own per principal. `off` is the reserve for turning a flag off. */
export type LimitRule =
  | "evaluate"
  | "evaluate-batch"
  | "bootstrap"
  | "bootstrap-anonymous"
  | "events"
  | "events-batch"
  | "admin"
  | "off";

/** Whom a bucket belongs to. `nobody`: no address is known, so all such callers share one. */
export type LimitPrincipal =
  | { readonly kind: "user" | "key" | "address"; readonly id: string }
  | { readonly kind: "nobody" };

export type LimitVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

export interface Limits {
  /** Counts a call. Synchronous wherever no other node has to be asked. Never rejects. */
  consume(rule: LimitRule, principal: LimitPrincipal): LimitVerdict | Promise<LimitVerdict>;
  close(): Promise<void>;
}
