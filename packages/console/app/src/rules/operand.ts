/** The operand of a condition as people type it: text, number, yes or no, a list. */
import type { ConditionOperator, JsonValue } from "../api/types.ts";

export type OperandKind = "text" | "number" | "boolean" | "list" | "json";

export function kindOf(operator: ConditionOperator, value: JsonValue): OperandKind {
  if (operator === "in" || operator === "not_in") return "list";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  return typeof value === "string" ? "text" : "json";
}

/** The kinds that a person may choose for the operator. */
export function kindsOf(operator: ConditionOperator): readonly OperandKind[] {
  switch (operator) {
    case "in":
    case "not_in":
      return ["list"];
    case "starts_with":
    case "ends_with":
    case "regex":
      return ["text"];
    case "greater_than":
    case "less_than":
    case "greater_than_or_equal":
    case "less_than_or_equal":
      return ["number", "text"];
    default:
      return ["text", "number", "boolean"];
  }
}

/** The same operand as another kind, as far as it has a meaning there. */
export function asKind(value: JsonValue, kind: OperandKind): JsonValue {
  const text = Array.isArray(value) ? value.map(textOf).join(", ") : textOf(value);
  if (kind === "list") return text === "" ? [] : listOf(text);
  // An empty text stands for a value that is not entered yet.
  if (kind === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : "";
  if (kind === "boolean") return text === "true";
  return text;
}

/** Items of a list are numbers where the whole list is. */
export function listOf(text: string): JsonValue[] {
  const items = text
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
  const areNumbers = items.length > 0 && items.every((item) => /^-?\d+(?:\.\d+)?$/.test(item));
  return areNumbers ? items.map(Number) : items;
}

export function listText(value: JsonValue): string {
  return Array.isArray(value) ? value.map(textOf).join(", ") : textOf(value);
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
