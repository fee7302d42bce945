/** One step of a decision: what was checked, with operands, hash, bucket and threshold. */
import { Check, CircleDot, Minus, X } from "lucide-react";
import type { ReactNode } from "react";
import type { ExplanationStep } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Value, valueText } from "../ui/value.tsx";
import { BucketPicture } from "./bucket-picture.tsx";
import {
  bucketOf,
  type ConditionTrace,
  conditionsOf,
  type GroupTrace,
  isGroupTrace,
  isSegmentTrace,
  type Trace,
} from "./trace.ts";

interface StepViewProps {
  readonly step: ExplanationStep;
  readonly isLast: boolean;
  readonly ruleName: (id: string) => string;
}

export function StepView({ step: { step, outcome, detail }, isLast, ruleName }: StepViewProps): ReactNode {
  const conditions = conditionsOf(detail);
  const bucket = bucketOf(detail);
  const title = step === "rule" ? ruleName(String(detail["rule"] ?? "")) : texts.explain.steps[step];
  return (
    <li className={isLast ? "decision-step decision-last" : "decision-step"}>
      <span className="decision-mark" aria-hidden="true">
        {isLast ? <CircleDot size={16} /> : <Minus size={16} />}
      </span>
      <div className="card decision-card">
        <p className="decision-title">
          <strong>{title}</strong>
          <span className={isLast ? "badge badge-accent" : "badge"}>
            {texts.explain.outcomes[outcome] ?? outcome}
          </span>
        </p>
        {typeof detail["why"] === "string" && <p className="muted">{detail["why"]}</p>}
        {typeof detail["environment"] === "string" && (
          <p className="muted">{texts.explain.inEnvironment(detail["environment"])}</p>
        )}
        {conditions && <Group group={conditions} />}
        {bucket && <BucketPicture bucket={bucket} />}
      </div>
    </li>
  );
}

function Group({ group }: { group: GroupTrace }): ReactNode {
  const { operator, conditions, not } = group;
  return (
    <div className="trace">
      {conditions.length > 1 && (
        <p className="trace-word">{operator === "OR" ? texts.rules.any : texts.rules.all}</p>
      )}
      {conditions.length === 0 && <p className="trace-word">{texts.rules.everyone}</p>}
      <ul>
        {conditions.map((trace, place) => (
          // Conditions have no identity of their own.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <li key={place}>
            <TraceView trace={trace} />
          </li>
        ))}
      </ul>
      {not && (
        <>
          <p className="trace-word">{texts.rules.not}</p>
          <Group group={not} />
        </>
      )}
    </div>
  );
}

function TraceView({ trace }: { trace: Trace }): ReactNode {
  if (isGroupTrace(trace)) return <Group group={trace} />;
  if (isSegmentTrace(trace)) {
    return (
      <>
        <p className="trace-line">
          <Holds holds={trace.holds} /> {texts.rules.inSegment(trace.segment)}
        </p>
        {trace.conditions && <Group group={trace.conditions} />}
      </>
    );
  }
  return <Line {...trace} />;
}

function Line({ attribute, operator, expected, actual, origin, holds, note }: ConditionTrace): ReactNode {
  const words = texts.operators[operator as keyof typeof texts.operators] ?? operator;
  return (
    <p className="trace-line">
      <Holds holds={holds} />
      <span>
        <code>{attribute}</code> {words} <Value value={expected} length={60} />
        <span className="muted">
          {" "}
          {actual === undefined ? texts.explain.isMissing : texts.explain.is(valueText(actual).slice(0, 120))}
          {origin !== undefined && ` · ${texts.explain.origins[origin] ?? origin}`}
          {note !== undefined && actual !== undefined && ` · ${note}`}
        </span>
      </span>
    </p>
  );
}

function Holds({ holds }: { holds: boolean }): ReactNode {
  return (
    <span className={holds ? "holds" : "holds-not"}>
      {holds ? <Check aria-hidden size={15} /> : <X aria-hidden size={15} />}
      <span className="visually-hidden">{holds ? texts.explain.holds : texts.explain.holdsNot}</span>
    </span>
  );
}
