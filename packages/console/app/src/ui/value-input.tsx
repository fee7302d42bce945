/** Edits a value of a flag's type. A JSON value is text until it parses. */
import { Component, lazy, type ReactNode, Suspense, useId, useState } from "react";
import type { FlagType, JsonValue } from "../api/types.ts";
import { texts } from "../texts.ts";
import { labelIdOf } from "./field.tsx";
import { NumberInput, UNBOUNDED } from "./number-input.tsx";
import { Select } from "./select.tsx";

const JsonEditor = lazy(() => import("./json-editor.tsx").then((loaded) => ({ default: loaded.JsonEditor })));

const BOOLEANS: readonly (readonly [string, string])[] = [
  ["true", "true"],
  ["false", "false"],
];

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
      <Select
        {...common}
        value={String(value ?? false)}
        options={BOOLEANS}
        onChange={(chosen) => onChange(chosen === "true")}
      />
    );
  }
  if (type === "number") {
    return (
      <NumberInput
        {...common}
        {...UNBOUNDED}
        value={typeof value === "number" ? value : 0}
        onChange={(next) => next !== undefined && onChange(next)}
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

function JsonInput(props: JsonInputProps): ReactNode {
  const { id, value, onChange, disabled = false, "aria-label": label, "aria-describedby": described } = props;
  const errorId = useId();
  const [draft, setDraft] = useState<string>();
  const text = draft ?? JSON.stringify(value, null, 2);
  const problem = draft === undefined ? undefined : problemOf(draft);
  const attributes = {
    ...(id !== undefined && { id }),
    ...(label === undefined
      ? id !== undefined && { "aria-labelledby": labelIdOf(id) }
      : { "aria-label": label }),
    "aria-invalid": String(problem !== undefined),
    ...namesOf("aria-describedby", [described, problem && errorId]),
  };
  const type = (typed: string): void => {
    setDraft(typed);
    if (problemOf(typed) === undefined) onChange(JSON.parse(typed));
  };
  const leave = (): void => {
    if (problem === undefined) setDraft(undefined);
  };
  const plain = (
    <textarea
      {...attributes}
      aria-invalid={problem !== undefined}
      disabled={disabled}
      spellCheck={false}
      rows={Math.min(14, Math.max(3, text.split("\n").length + 1))}
      value={text}
      onChange={({ target }) => type(target.value)}
      onBlur={leave}
    />
  );
  return (
    <div>
      <OrPlain plain={plain}>
        <Suspense fallback={plain}>
          <JsonEditor
            text={text}
            onChange={type}
            onBlur={leave}
            disabled={disabled}
            attributes={attributes}
          />
        </Suspense>
      </OrPlain>
      {problem !== undefined && (
        <p className="field-error" id={errorId} role="alert">
          {texts.value.notJson(problem)}
        </p>
      )}
    </div>
  );
}

interface OrPlainProps {
  readonly plain: ReactNode;
  readonly children: ReactNode;
}

/** Without the editor's file, such as after an update of the server, the value is edited as plain text. */
class OrPlain extends Component<OrPlainProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.plain : this.props.children;
  }
}

function namesOf(attribute: string, ids: readonly (string | undefined)[]): Record<string, string> {
  const names = ids.filter(Boolean).join(" ");
  return names === "" ? {} : { [attribute]: names };
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
