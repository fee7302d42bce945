/** Two to five choices of which one holds. Arrow keys move the choice. */
import { type KeyboardEvent, type ReactNode, useRef } from "react";

interface SegmentedProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, content: ReactNode])[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean;
}

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function Segmented<Value extends string>(props: SegmentedProps<Value>): ReactNode {
  const { label, value, options, onChange, disabled = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const place = options.findIndex(([option]) => option === value) + step;
    const next = options.at(place % options.length);
    if (next === undefined) return;
    onChange(next[0]);
    box.current?.querySelectorAll<HTMLElement>("[role=radio]")[options.indexOf(next)]?.focus();
  };
  return (
    <div className="segmented" role="radiogroup" aria-label={label} ref={box} onKeyDown={press}>
      {options.map(([option, content]) => (
        // biome-ignore lint/a11y/useSemanticElements: a radio input cannot be styled as a segment
        <button
          key={option}
          type="button"
          role="radio"
          className="segment"
          aria-checked={option === value}
          tabIndex={option === value ? 0 : -1}
          disabled={disabled}
          onClick={() => onChange(option)}
        >
          {content}
        </button>
      ))}
    </div>
  );
}
