/** What would change a decision, as sentences. Why a rule did not match stands at the rule. */
import type { FlagExplanation } from "../api/types.ts";
import { texts } from "../texts.ts";
import { bucketOf } from "./trace.ts";

const MOST = 6;

export function suggestionsOf(
  { steps }: Pick<FlagExplanation, "steps">,
  ruleName: (id: string) => string,
): string[] {
  const found = steps.flatMap(({ step, outcome, detail }): string[] => {
    const bucket = bucketOf(detail);
    const name = ruleName(String(detail["rule"] ?? ""));
    if (step === "enabled" && outcome === "disabled") return [texts.explain.turnOn];
    if (step === "override" && outcome === "applied") return [texts.explain.removeOverride];
    if (step === "rollout" && bucket !== undefined) {
      if (outcome === "excluded") return [texts.explain.raiseRollout(smallestShare(bucket.bucket))];
      return [texts.explain.lowerRollout(Math.floor(bucket.bucket))];
    }
    if (step === "rule" && outcome === "outside_percentage" && bucket !== undefined) {
      return [texts.explain.raiseRule(name, smallestShare(bucket.bucket))];
    }
    return [];
  });
  return found.slice(0, MOST);
}

/** The smallest whole percentage that includes the bucket. */
function smallestShare(bucket: number): number {
  return Math.min(100, Math.floor(bucket) + 1);
}
