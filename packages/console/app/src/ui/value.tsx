/** A flag's value as code: a filled dot for `true`, a ring for `false`, the colour of its variant. */
import type { ReactNode } from "react";
import type { JsonValue } from "../api/types.ts";
import { classes } from "./layout.tsx";

export function valueText(value: JsonValue | undefined): string {
  return value === undefined ? "–" : (JSON.stringify(value) ?? "–");
}

interface ValueProps {
  readonly value: JsonValue | undefined;
  /** More characters are cut; the whole value is the title. */
  readonly length?: number;
  /** The place of its variant, which has a colour. */
  readonly variant?: number | undefined;
}

export function Value({ value, length = 28, variant }: ValueProps): ReactNode {
  const text = valueText(value);
  const isShort = text.length <= length;
  const hasDot = typeof value === "boolean" || variant !== undefined;
  const colour = variant === undefined ? value === true && "dot-on" : `colour-${variant % 6}`;
  return (
    <code className="value" {...(!isShort && { title: text.slice(0, 2000), tabIndex: 0 })}>
      {hasDot && <span className={classes("dot", colour)} aria-hidden="true" />}
      <span>{isShort ? text : `${text.slice(0, length - 1)}…`}</span>
    </code>
  );
}

/** Code in a sentence. */
export function Token({ children }: { readonly children: ReactNode }): ReactNode {
  return <code className="token">{children}</code>;
}
