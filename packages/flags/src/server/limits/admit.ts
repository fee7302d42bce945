/** Counts a request over HTTP against its rate limit, before its permission is checked. */
import { type Awaitable, chain } from "@halyard/base";
import type { Caller, RequestIdentity } from "@halyard/sessions/plugin";
import { FeatureFlagError } from "../../model/errors.ts";
import type { Call } from "../call.ts";
import { isFromConsole } from "../console/mark.ts";
import { isLimitedByHost } from "./host.ts";
import type { LimitPrincipal, LimitRule, LimitVerdict } from "./limits.ts";
import { addressPrincipal, knownPrincipal } from "./principal.ts";
import { type OperationRule, ruleFor } from "./rules.ts";

export const WITHOUT_ADDRESS: string =
  "The network address of a caller is unknown, so all such callers share one rate limit. Let your proxy send the address, and set advanced.ipAddress.ipAddressHeaders or trustedProxies of Better Auth.";

/** What a rate limit depends on in the definition of an operation. */
export interface Limited {
  readonly rateLimit: OperationRule | "none";
  /** Whether the request may use the rule `off` when its own is used up. */
  mayUseReserve?(body: unknown): boolean;
}

/**
 * Refuses a request whose caller has used up the operation's rule, and limits the lookups of its credentials. Server code
 * is not counted. Synchronous while the caller and the limit are in memory.
 */
export function admit(
  { service, request, headers, identity, socketAddress }: Call,
  { rateLimit, mayUseReserve }: Limited,
): Awaitable<void> {
  const { limits, lookups, meter } = service;
  if (limits === undefined || request.request === undefined || isLimitedByHost(request)) return undefined;
  const address = () => {
    const { options } = request.context;
    const principal = addressPrincipal((name) => headers.get(name), options, socketAddress);
    if (principal.kind === "nobody") service.warnOnce(WITHOUT_ADDRESS);
    return principal;
  };
  if (lookups !== undefined && !identity.isIdentified)
    identity.guardLookups(lookups.guard(address, rateLimit === "none"));
  if (rateLimit === "none") return undefined;
  const hasReserve = mayUseReserve?.(request.body) === true;
  const refuse = (rule: LimitRule, verdict: Refused, reserve: Refused): never => {
    meter.limited(rule);
    throw tooMany(Math.min(verdict.retryAfterSeconds, reserve.retryAfterSeconds));
  };

  // A caller over its limit is refused before its credentials cost a lookup.
  const known = knownPrincipal(identity.isIdentified ? undefined : identity.lastVerified);
  const isConsole = rateLimit === "admin" && isFromConsole(service, headers);
  const ruleOf = (principal: LimitPrincipal) =>
    isConsole && principal.kind === "user" ? "console" : ruleFor(rateLimit, principal);
  if (known !== undefined) {
    const rule = ruleOf(known);
    const verdict = limits.peek(rule, known);
    const reserve = hasReserve ? limits.peek("off", known) : verdict;
    if (!verdict.allowed && !reserve.allowed) refuse(rule, verdict, reserve);
  }

  return chain(callerOf(identity, rateLimit), (caller) => {
    if (caller?.kind === "server") return undefined;
    const principal = knownPrincipal(caller) ?? address();
    const rule = ruleOf(principal);
    return chain(limits.consume(rule, principal), (verdict) => {
      if (verdict.allowed) return undefined;
      return chain(hasReserve ? limits.consume("off", principal) : verdict, (reserve) =>
        reserve.allowed ? undefined : refuse(rule, verdict, reserve),
      );
    });
  });
}

type Refused = Extract<LimitVerdict, { allowed: false }>;

/** A caller who cannot be identified is counted by address; the operation reports what is wrong. */
function callerOf(identity: RequestIdentity, rule: OperationRule): Awaitable<Caller | undefined> {
  const caller = rule === "admin" ? identity.administrator() : identity.evaluator();
  return caller instanceof Promise ? caller.catch(() => undefined) : caller;
}

export function tooMany(retryAfterSeconds: number): FeatureFlagError {
  return new FeatureFlagError("RATE_LIMIT_EXCEEDED", `Too many requests. Wait ${retryAfterSeconds} s.`, {
    details: { retryAfter: retryAfterSeconds },
  });
}
