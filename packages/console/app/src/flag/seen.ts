/** The steps of one person's evaluation, as they lie on the path. */
import { useQuery } from "@tanstack/react-query";
import { Check, X } from "lucide-react";
import { createElement, type ReactNode } from "react";
import { explainQuery } from "../api/queries.ts";
import type { ExplanationStep, FlagExplanation, Person } from "../api/types.ts";
import type { PathState } from "../ui/layout.tsx";

/** The switch, everyone else, or the id of a rule. */
type Step = "switch" | "else" | string;

export interface Seen {
  readonly person: Person;
  readonly result: FlagExplanation["result"] | undefined;
  readonly stateOf: (step: Step) => PathState | undefined;
  readonly markOf: (step: Step) => ReactNode;
  readonly stepOf: (step: Step) => ExplanationStep | undefined;
}

export function useSeen(
  flagKey: string,
  person: Person | undefined,
  environment: string | undefined,
): Seen | undefined {
  const { data } = useQuery({
    ...explainQuery(flagKey, { userId: person?.id ?? "" }, environment),
    enabled: person !== undefined,
  });
  if (person === undefined) return undefined;
  const steps = data?.steps ?? [];
  const last = steps.at(-1);
  const stepOf = (step: Step): ExplanationStep | undefined => {
    if (step === "switch") return steps.find((one) => one.step === "enabled");
    if (step === "else")
      return steps.findLast(({ step: kind }) => kind !== "enabled" && kind !== "rule" && kind !== "override");
    return steps.find((one) => one.step === "rule" && one.detail["rule"] === step);
  };
  const stateOf = (step: Step): PathState | undefined => {
    const found = stepOf(step);
    if (found === undefined) return undefined;
    return found === last ? "decided" : "passed";
  };
  const markOf = (step: Step): ReactNode => {
    const state = stateOf(step);
    if (state === undefined) return undefined;
    const isMatch = state === "decided" || step === "switch";
    return createElement(isMatch ? Check : X, { size: 14, "aria-hidden": true });
  };
  return { person, result: data?.result, stateOf, markOf, stepOf };
}
