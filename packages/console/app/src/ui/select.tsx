/** A native select: it costs nothing, and phones show their own list. Its list is styled where browsers can. */
import type { ReactNode } from "react";

interface SelectProps<Value extends string> {
  readonly id?: string;
  /** Its name, where no `Field` names it. */
  readonly label?: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean;
  /** Without an edge, for filters. */
  readonly quiet?: boolean;
  readonly "aria-describedby"?: string;
  readonly "aria-label"?: string;
}

export function Select<Value extends string>(props: SelectProps<Value>): ReactNode {
  const { label, options, value, onChange, quiet = false, ...rest } = props;
  return (
    <select
      {...rest}
      {...(label !== undefined && { "aria-label": label })}
      {...(quiet && { className: "select-quiet" })}
      value={value}
      onChange={({ target }) => {
        const chosen = options.find(([option]) => option === target.value);
        if (chosen !== undefined) onChange(chosen[0]);
      }}
    >
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
}
