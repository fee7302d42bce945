/** What a draft still needs, in words. */
import { texts } from "../texts.ts";
import type { Stored } from "./draft/cells.ts";
import type { Problem } from "./draft/problems.ts";

export interface ProblemText {
  /** "Rule 2", or the flag. */
  readonly subject: string;
  readonly text: string;
}

export function problemText({ rule, what }: Problem, { rules }: Stored): ProblemText {
  const place = rules.findIndex(({ id }) => id === rule);
  const text =
    what === "variant" && rule !== undefined ? texts.draft.missing.removedVariant : texts.draft.missing[what];
  if (rule === undefined) return { subject: texts.draft.settings, text };
  return { subject: rules[place]?.name ?? texts.rules.numbered(place + 1), text };
}
