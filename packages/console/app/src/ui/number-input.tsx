/** A number with its unit. Arrow keys step by one, with Shift by ten. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { classes } from "./layout.tsx";

interface NumberInputProps {
  readonly id?: string;
  readonly label?: string;
  /** Undefined: empty, where `onChange` takes undefined. */
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
  /** What is typed is not a number yet, such as "-" or "1e". Default: the value stays until it is one. */
  readonly onPartial?: () => void;
  readonly unit?: string;
  /** Default 0. */
  readonly min?: number;
  /** Default 100. */
  readonly max?: number;
  readonly placeholder?: string;
  readonly disabled?: boolean;
  readonly className?: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: boolean;
  readonly "aria-label"?: string;
}

export const UNBOUNDED = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY } as const;

export function NumberInput(props: NumberInputProps): ReactNode {
  const { label, value, onChange, onPartial, unit, min = 0, max = 100, className, ...rest } = props;
  const [typed, setTyped] = useState(String(value ?? ""));
  // What is typed may be shorter than the number, such as "0." or an empty field.
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const isTyping = document.activeElement === field.current && value === undefined;
    if (!isTyping) setTyped((text) => (numberIn(text) === value ? text : String(value ?? "")));
  }, [value]);
  const bounded = (next: number): number => Math.min(max, Math.max(min, next));
  const press = (event: KeyboardEvent): void => {
    const direction = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (direction === 0) return;
    event.preventDefault();
    onChange(bounded((value ?? Math.max(min, 0)) + direction * (event.shiftKey ? 10 : 1)));
  };
  return (
    <span className={classes("inside", unit !== undefined && "number-input", className)}>
      <input
        {...rest}
        ref={field}
        type="text"
        inputMode="decimal"
        role="spinbutton"
        aria-valuenow={value ?? Math.max(min, 0)}
        {...(Number.isFinite(min) && { "aria-valuemin": min })}
        {...(Number.isFinite(max) && { "aria-valuemax": max })}
        {...(label !== undefined && { "aria-label": label })}
        value={typed}
        onKeyDown={press}
        onBlur={() => setTyped(String(value ?? ""))}
        onChange={({ target }) => {
          setTyped(target.value);
          const next = numberIn(target.value);
          if (target.value.trim() === "") onChange(undefined);
          else if (next === undefined) onPartial?.();
          else onChange(bounded(next));
        }}
      />
      {unit !== undefined && <span className="unit">{unit}</span>}
    </span>
  );
}

function numberIn(text: string): number | undefined {
  const number = Number(text.trim().replace(",", "."));
  return text.trim() === "" || !Number.isFinite(number) ? undefined : number;
}
