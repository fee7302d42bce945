/** The initials of a person in a colour of their own. */
import type { ReactNode } from "react";

export function Avatar({ name }: { name: string }): ReactNode {
  const initials = name
    .split(/\s+/)
    .map((word) => word.at(0) ?? "")
    .join("")
    .slice(0, 2)
    .toUpperCase();
  return (
    <span className={`avatar avatar-${hueOf(name)}`} aria-hidden="true">
      {initials}
    </span>
  );
}

/** One of six colours, always the same for a name. */
function hueOf(name: string): number {
  let sum = 0;
  for (const character of name) sum += character.codePointAt(0) ?? 0;
  return sum % 6;
}
