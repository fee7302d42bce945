/** What one step of the path says about the person whom it is seen as. */
import { Check, X } from "lucide-react";
import type { ReactNode } from "react";
import type { ExplanationStep } from "../api/types.ts";
import { failingOf } from "../explain/failing.ts";
import { Condition } from "../explain/step-view.tsx";
import { bucketOf, conditionsOf } from "../explain/trace.ts";
import { texts } from "../texts.ts";
import { Row } from "../ui/layout.tsx";
import { keyed } from "../ui/row-keys.ts";

const FAILED = new Set(["not_matched", "outside_percentage", "skipped", "excluded"]);

export function SeenLine({ step }: { readonly step: ExplanationStep | undefined }): ReactNode {
  if (step === undefined) return null;
  const Icon = FAILED.has(step.outcome) ? X : Check;
  return (
    <Row className="caption soft line-above" align="start">
      <Icon aria-hidden size={14} className={Icon === Check ? "good" : "muted"} />
      <ul>{linesOf(step)}</ul>
    </Row>
  );
}

function linesOf({ step, outcome, detail }: ExplanationStep): ReactNode {
  const conditions = conditionsOf(detail);
  const failing = conditions === undefined ? [] : failingOf(conditions);
  if (failing.length > 0) {
    return keyed(failing, JSON.stringify).map(([key, one]) => <Condition key={key} {...one} />);
  }
  const bucket = bucketOf(detail);
  if (bucket === undefined)
    return <li>{detail["why"]?.toString() ?? texts.explain.outcomes[outcome] ?? step}</li>;
  const at = bucket.bucket.toFixed(1);
  if (bucket.percentage === undefined) return <li>{texts.explain.variantText(at)}</li>;
  const text = FAILED.has(outcome) ? texts.explain.outside : texts.explain.inside;
  return <li>{text(at, bucket.percentage)}</li>;
}
