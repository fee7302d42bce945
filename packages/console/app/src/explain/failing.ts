/** The conditions for which a rule did not match, out of all its groups and segments. */
import { type ConditionTrace, type GroupTrace, isGroupTrace, isSegmentTrace, type Trace } from "./trace.ts";

export interface Failing {
  readonly trace: ConditionTrace;
  /** It holds, and must not. */
  readonly isExcluded: boolean;
}

export function failingOf({ conditions, not, holds }: GroupTrace): Failing[] {
  if (holds) return [];
  const own = conditions.flatMap((trace): Failing[] => {
    if (trace.holds) return [];
    if (isGroupTrace(trace)) return failingOf(trace);
    if (isSegmentTrace(trace)) return trace.conditions === undefined ? [] : failingOf(trace.conditions);
    return [{ trace, isExcluded: false }];
  });
  if (not?.holds !== true) return own;
  const excluded = not.conditions.flatMap(simpleOf).filter((trace) => trace.holds);
  return [...own, ...excluded.map((trace) => ({ trace, isExcluded: true }))];
}

function simpleOf(trace: Trace): ConditionTrace[] {
  if (isGroupTrace(trace)) return trace.conditions.flatMap(simpleOf);
  return isSegmentTrace(trace) ? (trace.conditions?.conditions.flatMap(simpleOf) ?? []) : [trace];
}

/** All conditions of a group, in one list. */
export function allOf(group: GroupTrace): ConditionTrace[] {
  return [...group.conditions.flatMap(simpleOf), ...(group.not?.conditions.flatMap(simpleOf) ?? [])];
}
