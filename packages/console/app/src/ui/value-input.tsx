/** Edits a value of a flag's type. A JSON value is text until it parses. */
import { type ReactNode, useId, useState } from "react";
import type { FlagType, JsonValue } from "../api/types.ts";
import { texts } from "../texts.ts";

interface ValueInputProps {
  readonly id?: string;
  readonly type: FlagType;
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonValue) => void;
  readonly label?: string;
  readonly disabled?: boolean;
  readonly "aria-describedby"?: string;
}

export function ValueInput({ type, value, onChange, label, ...rest }: ValueInputProps): ReactNode {
  const common = { ...rest, ...(label !== undefined && { "aria-label": label }) };
  if (type === "boolean") {
    return (
      <select
        {...common}
        value={String(value ?? false)}
        onChange={({ target }) => onChange(target.value === "true")}
      >
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  if (type === "number") {
    return (
      <input
        {...common}
        type="number"
        step="any"
        value={typeof value === "number" ? value : 0}
        onChange={({ target }) => Number.isFinite(target.valueAsNumber) && onChange(target.valueAsNumber)}
      />
    );
  }
  if (type === "string") {
    return (
      <input
        {...common}
        value={typeof value === "string" ? value : ""}
        onChange={({ target }) => onChange(target.value)}
      />
    );
  }
  return <JsonInput {...common} value={value ?? null} onChange={onChange} />;
}

interface JsonInputProps {
  readonly id?: string;
  readonly value: JsonValue;
  readonly onChange: (value: JsonValue) => void;
  readonly disabled?: boolean;
  readonly "aria-label"?: string;
  readonly "aria-describedby"?: string;
}

function JsonInput({ value, onChange, "aria-describedby": described, ...rest }: JsonInputProps): ReactNode {
  const errorId = useId();
  const [draft, setDraft] = useState<string>();
  const text = draft ?? JSON.stringify(value, null, 2);
  const problem = draft === undefined ? undefined : problemOf(draft);
  return (
    <div className="json-input">
      <textarea
        {...rest}
        spellCheck={false}
        rows={Math.min(14, Math.max(3, text.split("\n").length + 1))}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={[described, problem && errorId].filter(Boolean).join(" ") || undefined}
        onChange={({ target }) => {
          setDraft(target.value);
          if (problemOf(target.value) === undefined) onChange(JSON.parse(target.value));
        }}
        onBlur={() => problem === undefined && setDraft(undefined)}
      />
      {problem !== undefined && (
        <p className="field-error" id={errorId} role="alert">
          {texts.value.notJson(problem)}
        </p>
      )}
    </div>
  );
}

function problemOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The value of a flag without one. */
export const EMPTY_VALUES: Readonly<Record<FlagType, JsonValue>> = {
  boolean: false,
  string: "",
  number: 0,
  json: null,
};
