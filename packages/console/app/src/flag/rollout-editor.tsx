/** The share of users: a slider with exact numbers beside it, and the value that they get. */
import { type ReactNode, useId } from "react";
import type { FeatureFlagPatch, Flag } from "../api/types.ts";
import { texts } from "../texts.ts";

interface RolloutEditorProps {
  readonly flag: Flag;
  readonly set: (fields: FeatureFlagPatch) => void;
  readonly disabled: boolean;
}

const STEPS = [0, 1, 5, 10, 25, 50, 100];

export function RolloutEditor({ flag, set, disabled }: RolloutEditorProps): ReactNode {
  const id = useId();
  const percentage = flag.rolloutPercentage;
  const choose = (next: number): void =>
    set({ rolloutPercentage: Math.min(100, Math.max(0, Math.round(next))) });
  if (percentage === undefined) {
    return (
      <button type="button" className="button" disabled={disabled} onClick={() => choose(0)}>
        {texts.targeting.addRollout}
      </button>
    );
  }
  return (
    <div className="rollout">
      <div className="rollout-head">
        <label htmlFor={id}>{texts.targeting.rollout}</label>
        <span className="number-unit">
          <input
            type="number"
            min={0}
            max={100}
            step={1}
            aria-label={texts.targeting.rolloutNumber}
            value={percentage}
            disabled={disabled}
            onChange={({ target }) => Number.isFinite(target.valueAsNumber) && choose(target.valueAsNumber)}
          />
          %
        </span>
        <button
          type="button"
          className="button button-quiet"
          disabled={disabled}
          onClick={() => set({ rolloutPercentage: null })}
        >
          {texts.targeting.removeRollout}
        </button>
      </div>
      <input
        id={id}
        type="range"
        min={0}
        max={100}
        value={percentage}
        disabled={disabled}
        aria-valuetext={texts.targeting.shareOfUsers(percentage)}
        onChange={({ target }) => choose(target.valueAsNumber)}
      />
      <div className="rollout-steps">
        {STEPS.map((step) => (
          <button
            type="button"
            key={step}
            className="chip"
            aria-pressed={step === percentage}
            disabled={disabled}
            onClick={() => choose(step)}
          >
            {step} %
          </button>
        ))}
      </div>
      <p className="hint">{texts.targeting.bucketedBy(flag.bucketBy ?? "userId")}</p>
    </div>
  );
}
