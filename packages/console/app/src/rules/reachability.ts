/** Rules that no user can reach, because an earlier rule takes all of theirs. */
import type { Rule, RuleConditions } from "../api/types.ts";

type Reached = Pick<Rule, "id" | "enabled" | "conditions" | "percentage" | "environments">;

/** For each rule that is never reached, the id of the earlier rule that takes its users. Finds the plain cases only. */
export function findUnreached(rules: readonly Reached[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const takers: Reached[] = [];
  for (const rule of rules) {
    if (!rule.enabled) continue;
    const taker = takers.find(
      (earlier) => countsWherever(earlier, rule) && covers(earlier.conditions, rule.conditions),
    );
    if (taker !== undefined) found.set(rule.id, taker.id);
    else if (rule.percentage === undefined || rule.percentage >= 100) takers.push(rule);
  }
  return found;
}

/** Whether `earlier` counts in all environments in which `later` does. */
function countsWherever({ environments }: Reached, later: Reached): boolean {
  return (
    environments === undefined || later.environments?.every((one) => environments.includes(one)) === true
  );
}

/** Whether everyone who matches `later` matches `earlier`. */
function covers(earlier: RuleConditions, later: RuleConditions): boolean {
  if (earlier.not !== undefined) return JSON.stringify(earlier) === JSON.stringify(later);
  if (earlier.conditions.length === 0) return true;
  const earlierParts = earlier.conditions.map((part) => JSON.stringify(part));
  const laterParts = new Set(later.conditions.map((part) => JSON.stringify(part)));
  const isAnd = later.operator !== "OR" || laterParts.size === 1;
  if (earlier.operator === "OR" && earlierParts.length > 1) {
    // One part in common is enough when the later rule needs all of its parts.
    if (isAnd) return earlierParts.some((part) => laterParts.has(part));
    return laterParts.size > 0 && [...laterParts].every((part) => earlierParts.includes(part));
  }
  return isAnd && earlierParts.every((part) => laterParts.has(part));
}
