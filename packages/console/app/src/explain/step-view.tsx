/** One step of a decision: passed, did not match, or decided; and why. */
import { Check, Circle, X } from "lucide-react";
import type { ReactNode } from "react";
import type { ExplanationStep } from "../api/types.ts";
import { texts } from "../texts.ts";
import { PathNode, type PathState, PathStep, Row, Stack } from "../ui/layout.tsx";
import { keyed } from "../ui/row-keys.ts";
import { Token, valueText } from "../ui/value.tsx";
import { BucketPicture } from "./bucket-picture.tsx";
import { allOf, type Failing, failingOf } from "./failing.ts";
import { bucketOf, type ConditionTrace, conditionsOf } from "./trace.ts";

interface StepViewProps {
  readonly step: ExplanationStep;
  /** It decided. */
  readonly isLast: boolean;
  readonly ruleName: (id: string) => string;
  /** The sentence of the step "enabled". */
  readonly switchTitle: (isOn: boolean) => string;
}

const PASSED = new Set(["enabled", "included", "matched", "applied"]);
const LONGEST = 60;

export function StepView({
  step: { step, outcome, detail },
  isLast,
  ruleName,
  switchTitle,
}: StepViewProps): ReactNode {
  const conditions = conditionsOf(detail);
  const bucket = bucketOf(detail);
  const title =
    step === "rule"
      ? ruleName(String(detail["rule"] ?? ""))
      : step === "enabled"
        ? switchTitle(outcome === "enabled")
        : texts.explain.steps[step];
  const state: PathState | undefined = isLast ? "decided" : PASSED.has(outcome) ? "passed" : undefined;
  return (
    <PathStep
      state={state}
      node={
        <PathNode>
          {isLast ? <Circle size={10} fill="currentColor" /> : state ? <Check size={14} /> : <X size={14} />}
        </PathNode>
      }
    >
      <Stack gap={4} className="step-text">
        <Row wrap>
          <strong>{title}</strong>
          <span className="muted">{texts.explain.outcomes[outcome] ?? ""}</span>
        </Row>
        {typeof detail["why"] === "string" && <p className="soft">{detail["why"]}</p>}
        {conditions && outcome === "not_matched" && (
          <ul>
            {keyed(failingOf(conditions), JSON.stringify).map(([key, failing]) => (
              <Condition key={key} {...failing} />
            ))}
          </ul>
        )}
        {conditions && outcome !== "not_matched" && <Holding list={allOf(conditions)} />}
        {bucket && <BucketPicture bucket={bucket} />}
      </Stack>
    </PathStep>
  );
}

/** `user.plan` is "free", needs "pro". */
export function Condition({ trace, isExcluded }: Failing): ReactNode {
  const { attribute, operator, expected, actual, origin, note } = trace;
  return (
    <li className="soft wrap-anywhere">
      <Token>{attribute}</Token>{" "}
      {actual === undefined ? texts.explain.isMissing : texts.explain.is(valueText(actual).slice(0, LONGEST))}
      ,{" "}
      {isExcluded
        ? texts.explain.mustNot
        : texts.explain.needs(operator, valueText(expected).slice(0, LONGEST))}
      <span className="muted caption">
        {origin !== undefined && ` · ${texts.explain.origins[origin] ?? origin}`}
        {note !== undefined && actual !== undefined && ` · ${note}`}
      </span>
    </li>
  );
}

/** Conditions that hold explain little, so they fold to one line. */
function Holding({ list }: { list: readonly ConditionTrace[] }): ReactNode {
  if (list.length === 0) return null;
  return (
    <details className="muted">
      <summary>{texts.explain.conditionsHold(list.length)}</summary>
      <ul className="soft">
        {keyed(list, JSON.stringify).map(([key, { attribute, actual, origin }]) => (
          <li key={key}>
            <Token>{attribute}</Token>{" "}
            {actual === undefined
              ? texts.explain.isMissing
              : texts.explain.is(valueText(actual).slice(0, LONGEST))}
            {origin !== undefined && (
              <span className="muted caption"> · {texts.explain.origins[origin] ?? origin}</span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
