/** How a draft names its parts. */
import { texts } from "../texts.ts";
import type { Stored } from "./draft/cells.ts";
import type { Problem } from "./draft/problems.ts";

/** What is not complete: "Rule 2", or the flag. */
export function subjectOf({ rule }: Problem, stored: Stored): string {
  return rule === undefined ? texts.draft.settings : ruleName(stored, rule);
}

/** Its own name, or its place. */
export function ruleName({ rules }: Stored, id: string): string {
  const place = rules.findIndex((rule) => rule.id === id);
  return rules[place]?.name ?? texts.rules.numbered(place + 1);
}
