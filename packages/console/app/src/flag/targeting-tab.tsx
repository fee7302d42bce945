/** Who gets which value, in the order in which the server decides: off, overrides, rules, rollout, default. */
import type { ReactNode } from "react";
import type { Flag } from "../api/types.ts";
import { RulesSection } from "../rules/rules-section.tsx";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Field } from "../ui/field.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import { RolloutEditor } from "./rollout-editor.tsx";
import { SaveBar } from "./save-bar.tsx";
import { useDraft } from "./use-draft.ts";
import { VariantsEditor } from "./variants-editor.tsx";

export function TargetingTab({ flag }: { flag: Flag }): ReactNode {
  const draft = useDraft(flag);
  const may = useMay();
  const { next, set } = draft;
  const isReadOnly = !may("update");
  const hasVariants = (next.variants?.length ?? 0) > 0;
  return (
    <div className="steps">
      <Step number={1} title={texts.targeting.off} hint={texts.targeting.offHint}>
        <Field label={texts.targeting.offValue}>
          <ValueInput
            type={flag.type}
            value={next.offValue ?? next.defaultValue ?? EMPTY_VALUES[flag.type]}
            onChange={(offValue) => set({ offValue })}
            disabled={isReadOnly}
          />
        </Field>
        {next.offValue === undefined && <p className="hint">{texts.targeting.offIsDefault}</p>}
      </Step>
      <Step number={2} title={texts.targeting.rules} hint={texts.targeting.rulesHint}>
        <RulesSection flag={flag} />
      </Step>
      <Step number={3} title={texts.targeting.rest} hint={texts.targeting.restHint}>
        <RolloutEditor flag={next} set={set} disabled={isReadOnly} />
        <VariantsEditor flag={next} set={set} disabled={isReadOnly} />
        {(!hasVariants || next.rolloutPercentage !== undefined) && (
          <Field
            label={
              next.rolloutPercentage === undefined
                ? texts.targeting.everyoneGets
                : texts.targeting.outsideGets
            }
          >
            <ValueInput
              type={flag.type}
              value={next.defaultValue ?? EMPTY_VALUES[flag.type]}
              onChange={(defaultValue) => set({ defaultValue })}
              disabled={isReadOnly}
            />
          </Field>
        )}
      </Step>
      <SaveBar flag={flag} draft={draft} />
    </div>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly hint: string;
  readonly children: ReactNode;
}

function Step({ number, title, hint, children }: StepProps): ReactNode {
  return (
    <section className="step">
      <span className="step-number" aria-hidden="true">
        {number}
      </span>
      <div className="step-card">
        <h2>{title}</h2>
        <p className="muted">{hint}</p>
        {children}
      </div>
    </section>
  );
}
