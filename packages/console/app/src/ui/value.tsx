/** A flag's value as text, in the colour of its kind. */
import type { ReactNode } from "react";
import type { JsonValue } from "../api/types.ts";

export function valueText(value: JsonValue | undefined): string {
  return value === undefined ? "–" : (JSON.stringify(value) ?? "–");
}

/** At most `length` characters; the whole value is the title. */
export function Value({ value, length = 40 }: { value: JsonValue | undefined; length?: number }): ReactNode {
  const text = valueText(value);
  const isShort = text.length <= length;
  return (
    <code className={`value value-${kindOf(value)}`} {...(!isShort && { title: text.slice(0, 2000) })}>
      {isShort ? text : `${text.slice(0, length - 1)}…`}
    </code>
  );
}

function kindOf(value: JsonValue | undefined): string {
  if (value === true) return "true";
  if (value === false) return "false";
  return typeof value === "string" ? "string" : typeof value === "number" ? "number" : "json";
}
