/** The sentence of a rule, with its attributes and values as code. */
import type { ReactNode } from "react";
import type { RuleConditions } from "../api/types.ts";
import { keyed } from "../ui/row-keys.ts";
import { Token } from "../ui/value.tsx";
import { type SegmentNames, wordsOf } from "./sentence.ts";

interface SentenceProps {
  readonly conditions: RuleConditions;
  readonly names: SegmentNames;
}

export function SentenceView({ conditions, names }: SentenceProps): ReactNode {
  return keyed(wordsOf(conditions, names), ({ text }) => text).map(([key, { text, isCode }]) =>
    isCode ? <Token key={key}>{text}</Token> : <span key={key}>{text}</span>,
  );
}
