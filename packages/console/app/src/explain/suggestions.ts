/** What would change a decision, as sentences. */
import type { FlagExplanation } from "../api/types.ts";
import { texts } from "../texts.ts";
import { valueText } from "../ui/value.tsx";
import {
  bucketOf,
  type ConditionTrace,
  conditionsOf,
  type GroupTrace,
  isGroupTrace,
  isSegmentTrace,
} from "./trace.ts";

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
    if (step !== "rule") return [];
    if (outcome === "skipped") return [texts.explain.skipped(name, String(detail["why"] ?? ""))];
    if (outcome === "outside_percentage" && bucket !== undefined) {
      return [texts.explain.raiseRule(name, smallestShare(bucket.bucket))];
    }
    const conditions = conditionsOf(detail);
    if (outcome !== "not_matched" || conditions === undefined) return [];
    const failing = failingOf(conditions);
    return failing.length === 0 ? [] : [texts.explain.matchRule(name, failing.map(wanted))];
  });
  return found.slice(0, MOST);
}

/** The smallest whole percentage that includes the bucket. */
function smallestShare(bucket: number): number {
  return Math.min(100, Math.floor(bucket) + 1);
}

export function failingOf({ conditions, not, holds }: GroupTrace): ConditionTrace[] {
  if (holds) return [];
  const own = conditions.flatMap((trace) => {
    if (trace.holds) return [];
    if (isGroupTrace(trace)) return failingOf(trace);
    if (isSegmentTrace(trace)) return trace.conditions === undefined ? [] : failingOf(trace.conditions);
    return [trace];
  });
  return not?.holds === true
    ? [...own, ...not.conditions.flatMap(simpleOf).filter((trace) => trace.holds)]
    : own;
}

function simpleOf(trace: GroupTrace["conditions"][number]): ConditionTrace[] {
  if (isGroupTrace(trace)) return trace.conditions.flatMap(simpleOf);
  return isSegmentTrace(trace) ? (trace.conditions?.conditions.flatMap(simpleOf) ?? []) : [trace];
}

function wanted({ attribute, operator, expected, actual, holds }: ConditionTrace): string {
  const words = texts.operators[operator as keyof typeof texts.operators] ?? operator;
  const is = actual === undefined ? texts.explain.missing : valueText(actual);
  return holds
    ? texts.explain.mustNot(attribute, words, valueText(expected))
    : texts.explain.must(attribute, words, valueText(expected), is);
}
