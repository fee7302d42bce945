/** A rule as one plain sentence. */
import type {
  ConditionOperator,
  JsonValue,
  RuleConditions,
  SegmentCondition,
  SimpleCondition,
} from "../api/types.ts";
import { texts } from "../texts.ts";
import { valueText } from "../ui/value.tsx";

type Condition = RuleConditions["conditions"][number];

/** Lists in a sentence show this many values. */
const SHOWN_VALUES = 3;

export function isGroup(condition: Condition): condition is RuleConditions {
  return "conditions" in condition;
}

export function isSegment(condition: Condition): condition is SegmentCondition {
  return "segment" in condition;
}

/** A part of a sentence. Code is an attribute or a value. */
export interface Word {
  readonly text: string;
  readonly isCode: boolean;
}

const plain = (text: string): Word => ({ text, isCode: false });
const code = (text: string): Word => ({ text, isCode: true });

/** The name of a segment by its key. */
export type SegmentNames = (key: string) => string | undefined;
const noNames: SegmentNames = () => undefined;

/** "email ends with "@example.com" and plan is "pro"", or "everyone". */
export function sentenceOf(conditions: RuleConditions, names: SegmentNames = noNames): string {
  return wordsOf(conditions, names)
    .map(({ text }) => text)
    .join("");
}

export function wordsOf(conditions: RuleConditions, names: SegmentNames = noNames): Word[] {
  return groupWords(conditions, names, true);
}

function groupWords(
  { operator = "AND", conditions, not }: RuleConditions,
  names: SegmentNames,
  isOuter: boolean,
): Word[] {
  const joint = plain(operator === "OR" ? texts.rules.or : texts.rules.and);
  const joined = conditions.flatMap((condition, place) => [
    ...(place === 0 ? [] : [joint]),
    ...partWords(condition, names),
  ]);
  const isMixed = not !== undefined && operator === "OR" && conditions.length > 1;
  const positive =
    conditions.length === 0 ? [plain(texts.rules.everyone)] : isMixed ? inBrackets(joined) : joined;
  const whole =
    not === undefined
      ? positive
      : [...positive, plain(texts.rules.butNot), ...inBrackets(groupWords(not, names, true))];
  const needsBrackets = !isOuter && (conditions.length > 1 || not !== undefined);
  return needsBrackets ? inBrackets(whole) : whole;
}

function inBrackets(words: readonly Word[]): Word[] {
  return [plain("("), ...words, plain(")")];
}

function partWords(condition: Condition, names: SegmentNames): Word[] {
  if (isGroup(condition)) return groupWords(condition, names, false);
  if (isSegment(condition))
    return [plain(texts.rules.inSegment(names(condition.segment) ?? condition.segment))];
  return simpleWords(condition);
}

function simpleWords({ attribute, operator, value }: SimpleCondition): Word[] {
  return [code(attribute), plain(` ${texts.operators[operator]} `), code(operandText(operator, value))];
}

function operandText(operator: ConditionOperator, value: JsonValue): string {
  if ((operator !== "in" && operator !== "not_in") || !Array.isArray(value)) return valueText(value);
  const shown = value
    .slice(0, SHOWN_VALUES)
    .map((item) => valueText(item))
    .join(", ");
  return value.length > SHOWN_VALUES
    ? `${shown} ${texts.rules.moreValues(value.length - SHOWN_VALUES)}`
    : shown;
}
