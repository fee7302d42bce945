/** The one place where a request over HTTP is counted, before it is known whether it may do what it asks. */
import { isPlainObject } from "../../engine/json.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import { answer, type Call, headersOf } from "../call.ts";
import { type Caller, identifyAdministrator, identifyEvaluator } from "../caller.ts";
import type { Routed } from "../endpoints.ts";
import type { Service } from "../service.ts";
import { isLimitedByHost } from "./host.ts";
import type { LimitPrincipal, LimitRule } from "./limits.ts";
import { NO_LIMITS } from "./memory-limits.ts";
import { addressPrincipal, knownPrincipal } from "./principal.ts";
import { type OperationRule, RULE_OF, ruleFor } from "./rules.ts";

export const WITHOUT_ADDRESS: string =
  "The address of a caller is not known, so all such callers share one rate limit. Let your proxy send it, and set advanced.ipAddress.ipAddressHeaders or trustedProxies of Better Auth.";

type Operation<Output> = (service: Service, call: Call) => Promise<Output>;

/** The operation, refused to callers who have used up its rule. Server code is not counted. */
export function admitted<Output>(name: Routed, operation: Operation<Output>): Operation<Output> {
  const rule = RULE_OF[name];
  if (rule === "none") return operation;
  return async (service, call) => {
    if (call.request !== undefined && service.limits !== NO_LIMITS) {
      await answer(call, "STORAGE_ERROR", () => count(service, call, name, rule));
    }
    return operation(service, call);
  };
}

async function count(service: Service, call: Call, name: Routed, rule: OperationRule): Promise<void> {
  if (isLimitedByHost(call)) return;
  const caller = await callerOf(call, rule);
  if (caller?.kind === "server") return;
  const headers = headersOf(call);
  const principal =
    knownPrincipal(caller) ?? addressPrincipal((name) => headers.get(name), call.context.options);
  await requireAdmission(service, ruleFor(rule, principal), principal, isTurningOff(name, call.body));
}

/** Whoever cannot be identified, for whatever reason, is counted by address; the operation says what is wrong. */
async function callerOf(call: Call, rule: OperationRule): Promise<Caller | undefined> {
  try {
    return await (rule === "admin" ? identifyAdministrator(call) : identifyEvaluator(call));
  } catch {
    return undefined;
  }
}

/** Counts a call, and refuses it when nothing is left. `mayUseReserve`: it turns a flag off and nothing else. */
async function requireAdmission(
  service: Service,
  rule: LimitRule,
  principal: LimitPrincipal,
  mayUseReserve: boolean,
): Promise<void> {
  if (principal.kind === "nobody") service.warnOnce(WITHOUT_ADDRESS);
  const verdict = await service.limits.consume(rule, principal);
  if (verdict.allowed) return;
  const reserve = mayUseReserve ? await service.limits.consume("off", principal) : verdict;
  if (reserve.allowed) return;
  service.meter.limited(rule);
  throw tooMany(Math.min(verdict.retryAfterSeconds, reserve.retryAfterSeconds));
}

export function tooMany(retryAfterSeconds: number): FeatureFlagError {
  return new FeatureFlagError("RATE_LIMIT_EXCEEDED", `Too many requests. Wait ${retryAfterSeconds} s.`, {
    details: { retryAfter: retryAfterSeconds },
  });
}

function isTurningOff(name: Routed, body: unknown): boolean {
  if (name !== "updateFeatureFlagRoute" || !isPlainObject(body)) return false;
  return body["enabled"] === false && Object.keys(body).length === 1;
}
