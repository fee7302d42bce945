/** The steps of one person's evaluation, as they lie on the path. */
import { useQuery } from "@tanstack/react-query";
import { Check, X } from "lucide-react";
import { createElement, type ReactNode } from "react";
import { explainQuery } from "../api/queries.ts";
import type { ExplanationStep, FlagExplanation, JsonObject, Person } from "../api/types.ts";
import type { PathState } from "../ui/layout.tsx";

/** The switch, everyone else, or the id of a rule. */
type Step = "switch" | "else" | string;

/** Those of everyone else, the most telling first. */
const LAST_STEPS = ["variant", "rollout", "default"] as const;

export interface Seen {
  readonly person: Person;
  readonly result: FlagExplanation["result"] | undefined;
  readonly stateOf: (step: Step) => PathState | undefined;
  readonly markOf: (step: Step) => ReactNode;
  readonly stepOf: (step: Step) => ExplanationStep | undefined;
}

/** What a request of the person would say, as far as the user's row has it. */
function contextOf(person: Person | undefined): JsonObject {
  if (person === undefined) return {};
  const { id, email, role } = person;
  return { userId: id, email, ...(role !== undefined && { role }) };
}

export function useSeen(
  flagKey: string,
  person: Person | undefined,
  environment: string | undefined,
): Seen | undefined {
  const { data } = useQuery({
    ...explainQuery(flagKey, contextOf(person), environment),
    enabled: person !== undefined,
  });
  if (person === undefined) return undefined;
  const steps = data?.steps ?? [];
  const last = steps.at(-1);
  const stepOf = (step: Step): ExplanationStep | undefined => {
    if (step === "switch") return steps.find((one) => one.step === "enabled");
    if (step === "else") return LAST_STEPS.flatMap((kind) => steps.find((one) => one.step === kind) ?? [])[0];
    return steps.find((one) => one.step === "rule" && one.detail["rule"] === step);
  };
  const stateOf = (step: Step): PathState | undefined => {
    const found = stepOf(step);
    if (found === undefined) return undefined;
    const isLast = found === last || (step === "else" && LAST_STEPS.some((kind) => kind === last?.step));
    return isLast ? "decided" : "passed";
  };
  const markOf = (step: Step): ReactNode => {
    const state = stateOf(step);
    if (state === undefined) return undefined;
    const isMatch = state === "decided" || step === "switch";
    return createElement(isMatch ? Check : X, { size: 14, "aria-hidden": true });
  };
  return { person, result: data?.result, stateOf, markOf, stepOf };
}
