/** A share as a slider. What the draft adds is hatched. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Row } from "../ui/layout.tsx";

interface RolloutSliderProps {
  readonly value: number;
  /** The stored share. */
  readonly before: number | undefined;
  readonly disabled: boolean;
  readonly onChange: (value: number) => void;
}

const MARKS = [0, 25, 50, 75, 100];

export function RolloutSlider({ value, before = value, disabled, onChange }: RolloutSliderProps): ReactNode {
  const kept = Math.min(before, value);
  return (
    <div className="slider grow">
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" className="slider-ground" />
        <rect width={kept} height="6" className="slider-kept" />
      </svg>
      {value !== before && (
        <span
          className="slider-new"
          style={{ left: `${kept}%`, width: `${Math.abs(value - before)}%` }}
          aria-hidden="true"
        />
      )}
      <input
        type="range"
        min={0}
        max={100}
        value={value}
        disabled={disabled}
        aria-label={texts.targeting.rollout}
        aria-valuetext={texts.targeting.shareOfUsers(value)}
        onChange={({ target }) => onChange(target.valueAsNumber)}
      />
      <Row between className="caption muted">
        {MARKS.map((mark) => (
          <span key={mark} aria-hidden="true">
            {mark === 100 ? "100%" : mark}
          </span>
        ))}
      </Row>
    </div>
  );
}
