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

/** "email ends with "@example.com" and plan is "pro"", or "everyone". */
export function sentenceOf(conditions: RuleConditions, names: SegmentNames = noNames): string {
  return groupSentence(conditions, names, true);
}

/** The name of a segment by its key. */
export type SegmentNames = (key: string) => string | undefined;
const noNames: SegmentNames = () => undefined;

function groupSentence(
  { operator = "AND", conditions, not }: RuleConditions,
  names: SegmentNames,
  isOuter: boolean,
): string {
  const parts = conditions.map((condition) => partSentence(condition, names));
  const joined = parts.join(operator === "OR" ? texts.rules.or : texts.rules.and);
  const isMixed = not !== undefined && operator === "OR" && parts.length > 1;
  const positive = parts.length === 0 ? texts.rules.everyone : isMixed ? `(${joined})` : joined;
  const whole =
    not === undefined ? positive : `${positive}${texts.rules.butNot}(${groupSentence(not, names, true)})`;
  const needsBrackets = !isOuter && (parts.length > 1 || not !== undefined);
  return needsBrackets ? `(${whole})` : whole;
}

function partSentence(condition: Condition, names: SegmentNames): string {
  if (isGroup(condition)) return groupSentence(condition, names, false);
  if (isSegment(condition)) return texts.rules.inSegment(names(condition.segment) ?? condition.segment);
  return simpleSentence(condition);
}

function simpleSentence({ attribute, operator, value }: SimpleCondition): string {
  return `${attribute} ${texts.operators[operator]} ${operandText(operator, value)}`;
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
