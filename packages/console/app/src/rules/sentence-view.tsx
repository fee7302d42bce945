/** The sentence of a rule, with its attributes and values as code. */
import type { ReactNode } from "react";
import type { RuleConditions } from "../api/types.ts";
import { Token } from "../ui/value.tsx";
import { type SegmentNames, wordsOf } from "./sentence.ts";

interface SentenceProps {
  readonly conditions: RuleConditions;
  readonly names: SegmentNames;
}

export function SentenceView({ conditions, names }: SentenceProps): ReactNode {
  return wordsOf(conditions, names).map(({ text, isCode }, place) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: words have no identity of their own
    isCode ? <Token key={place}>{text}</Token> : <span key={place}>{text}</span>,
  );
}
