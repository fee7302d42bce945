/** What one step of the path says about the person whom it is seen as. */
import { Check, X } from "lucide-react";
import type { ReactNode } from "react";
import type { ExplanationStep } from "../api/types.ts";
import { failingOf } from "../explain/suggestions.ts";
import { bucketOf, conditionsOf } from "../explain/trace.ts";
import { texts } from "../texts.ts";
import { Row } from "../ui/layout.tsx";
import { valueText } from "../ui/value.tsx";

export function SeenLine({ step }: { readonly step: ExplanationStep | undefined }): ReactNode {
  if (step === undefined) return null;
  const isMatch = !["not_matched", "outside_percentage", "skipped", "excluded", "disabled"].includes(
    step.outcome,
  );
  return (
    <Row className="caption soft line-above">
      {isMatch ? (
        <Check aria-hidden size={14} className="good" />
      ) : (
        <X aria-hidden size={14} className="muted" />
      )}
      <span className="wrap-anywhere">{lineOf(step)}</span>
    </Row>
  );
}

function lineOf({ step, outcome, detail }: ExplanationStep): string {
  const bucket = bucketOf(detail);
  if (bucket?.percentage !== undefined)
    return texts.explain.bucketText(bucket.bucket.toFixed(1), bucket.percentage);
  if (bucket !== undefined) return texts.explain.variantText(bucket.bucket.toFixed(1));
  if (outcome === "skipped") return String(detail["why"] ?? "");
  const conditions = conditionsOf(detail);
  if (step !== "rule" || conditions === undefined || conditions.holds)
    return texts.explain.outcomes[outcome] ?? outcome;
  const failing = failingOf(conditions).map(({ attribute, operator, expected, actual }) => {
    const words = texts.operators[operator as keyof typeof texts.operators] ?? operator;
    const is = actual === undefined ? texts.explain.isMissing : texts.explain.is(valueText(actual));
    return texts.draft.needs(attribute, is, words, valueText(expected));
  });
  return failing.length === 0 ? texts.draft.notMatched : failing.join("; ");
}
