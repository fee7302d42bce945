/** A person: initials in a colour of their own, and the name. No colour of a status is among them. */
import type { ReactNode } from "react";
import { classes, Row } from "./layout.tsx";

export function Avatar({
  name,
  large = false,
}: {
  readonly name: string;
  readonly large?: boolean;
}): ReactNode {
  const initials = name
    .split(/\s+/)
    .map((word) => word.at(0) ?? "")
    .join("")
    .slice(0, 2)
    .toUpperCase();
  return (
    <span className={classes("avatar", `avatar-${hueOf(name)}`, large && "avatar-large")} aria-hidden="true">
      {initials}
    </span>
  );
}

export function PersonChip({ name, note }: { readonly name: string; readonly note?: ReactNode }): ReactNode {
  return (
    <Row className="grow">
      <Avatar name={name} />
      <span className="cut">{name}</span>
      {note !== undefined && <span className="chip-note muted caption cut">{note}</span>}
    </Row>
  );
}

/** One of five colours, always the same for a name. */
function hueOf(name: string): number {
  let sum = 0;
  for (const character of name) sum += character.codePointAt(0) ?? 0;
  return sum % 5;
}
