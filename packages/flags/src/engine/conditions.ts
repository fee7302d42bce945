/** Checks the shape of conditions that come from outside. */
import type { ConditionOperator, RuleConditions } from "./definition.ts";
import { isJsonValue, isPlainObject, MAX_JSON_DEPTH } from "./json.ts";
import { compilePattern, MAX_PATTERN_LENGTH, MAX_PATTERN_SIZE } from "./pattern.ts";
import type { ConditionProblem } from "./problem.ts";
import { MAX_REGEX_CONDITIONS } from "./references.ts";

export type { ConditionProblem } from "./problem.ts";
export { checkReferences, countRegex, segmentsOf } from "./references.ts";

/** Groups within groups, the outermost included. */
const MAX_CONDITION_DEPTH = 10;
/** Conditions, groups and segments of one tree, its root included. */
const MAX_CONDITION_NODES = 200;
/** Values of one `in` or `not_in`. */
const MAX_LIST_LENGTH = 1_000;
/** Characters of a text to look for: finding a long one in a long text that nearly matches everywhere takes long. */
const MAX_PART_LENGTH = 256;

export type CheckedConditions = { readonly conditions: RuleConditions } | ConditionProblem;

const OPERATORS: ReadonlySet<unknown> = new Set<ConditionOperator>([
  "equals",
  "not_equals",
  "contains",
  "not_contains",
  "starts_with",
  "ends_with",
  "in",
  "not_in",
  "greater_than",
  "less_than",
  "greater_than_or_equal",
  "less_than_or_equal",
  "regex",
]);

type Member = RuleConditions["conditions"][number];

/** The conditions, free of anything that is not part of them, or the first problem found. */
export function checkConditions(value: unknown): CheckedConditions {
  const walk = new Walk();
  try {
    return { conditions: walk.group(value, [], 1) };
  } catch (error) {
    if (error instanceof Found) return error.problem;
    throw error;
  }
}

/** Leaves the walk with the first problem. */
class Found extends Error {
  readonly problem: ConditionProblem;

  constructor(problem: ConditionProblem) {
    super(problem.problem);
    this.problem = problem;
  }
}

type Place = readonly (string | number)[];

function refuse(place: Place, problem: string, limit?: number): never {
  throw new Found({ problem, path: place.join("."), ...(limit !== undefined && { limit }) });
}

class Walk {
  #nodes = 0;
  #patterns = 0;

  group(value: unknown, place: Place, depth: number): RuleConditions {
    if (!isPlainObject(value)) return refuse(place, "must be an object with `conditions`");
    this.#count(place);
    if (depth > MAX_CONDITION_DEPTH) {
      refuse(place, `is nested too deeply: groups may be ${MAX_CONDITION_DEPTH} deep`, MAX_CONDITION_DEPTH);
    }
    allowKeys(value, ["operator", "conditions", "not"], place);
    const operator = own(value, "operator");
    if (operator !== undefined && operator !== "AND" && operator !== "OR") {
      return refuse([...place, "operator"], "must be `AND` or `OR`");
    }
    const members = own(value, "conditions");
    if (!Array.isArray(members)) return refuse([...place, "conditions"], "must be a list; it may be empty");
    // Not `map`: it skips holes.
    const conditions: Member[] = [];
    for (let index = 0; index < members.length; index++) {
      conditions.push(this.#member(members[index], [...place, "conditions", index], depth));
    }
    const not = own(value, "not");
    return {
      ...(operator !== undefined && { operator }),
      conditions,
      ...(not !== undefined && { not: this.group(not, [...place, "not"], depth + 1) }),
    };
  }

  #member(value: unknown, place: Place, depth: number): Member {
    if (isPlainObject(value)) {
      if (Object.hasOwn(value, "conditions")) return this.group(value, place, depth + 1);
      this.#count(place);
      if (Object.hasOwn(value, "segment")) return segment(value, place);
      if (Object.hasOwn(value, "attribute")) {
        // Before its pattern is compiled, which costs more than all other checks.
        if (value["operator"] === "regex") this.#countPattern(place);
        return simple(value, place);
      }
    }
    return refuse(place, "must be a condition (`attribute`), a group (`conditions`) or a `segment`");
  }

  #countPattern(place: Place): void {
    this.#patterns += 1;
    if (this.#patterns <= MAX_REGEX_CONDITIONS) return;
    refuse(
      place,
      `is one too many: a flag may have ${MAX_REGEX_CONDITIONS} regex conditions`,
      MAX_REGEX_CONDITIONS,
    );
  }

  #count(place: Place): void {
    this.#nodes += 1;
    if (this.#nodes <= MAX_CONDITION_NODES) return;
    refuse(
      place,
      `is one too many: there may be ${MAX_CONDITION_NODES} conditions and groups`,
      MAX_CONDITION_NODES,
    );
  }
}

function segment(value: Record<string, unknown>, place: Place): Member {
  allowKeys(value, ["segment"], place);
  const key = own(value, "segment");
  if (typeof key !== "string" || key === "") return refuse([...place, "segment"], "must be a segment's key");
  return { segment: key };
}

function simple(value: Record<string, unknown>, place: Place): Member {
  allowKeys(value, ["attribute", "operator", "value"], place);
  const attribute = own(value, "attribute");
  if (typeof attribute !== "string" || attribute === "") {
    return refuse([...place, "attribute"], "must be the dotted path of an attribute");
  }
  const operator = own(value, "operator");
  if (!isOperator(operator)) {
    return refuse([...place, "operator"], `must be one of ${[...OPERATORS].join(", ")}`);
  }
  const operand = own(value, "value");
  if (operand === undefined) return refuse([...place, "value"], "is required; `null` is a value");
  if (operator === "in" || operator === "not_in") checkList(operand, operator, [...place, "value"]);
  if (!isJsonValue(operand)) {
    return refuse([...place, "value"], `must be JSON, at most ${MAX_JSON_DEPTH} levels deep`);
  }
  if (operator === "regex") checkPattern(operand, [...place, "value"]);
  if ((operator === "contains" || operator === "not_contains") && typeof operand === "string") {
    checkPart(operand, operator, [...place, "value"]);
  }
  return { attribute, operator, value: operand };
}

function isOperator(value: unknown): value is ConditionOperator {
  return OPERATORS.has(value);
}

function checkList(list: unknown, operator: string, place: Place): void {
  if (!Array.isArray(list)) return refuse(place, `must be a list for \`${operator}\``);
  if (list.length > MAX_LIST_LENGTH) {
    refuse(place, `is too long: it may have ${MAX_LIST_LENGTH} values`, MAX_LIST_LENGTH);
  }
}

function checkPart(part: string, operator: string, place: Place): void {
  if (part.length <= MAX_PART_LENGTH) return;
  refuse(
    place,
    `is too long: \`${operator}\` looks for up to ${MAX_PART_LENGTH} characters`,
    MAX_PART_LENGTH,
  );
}

function checkPattern(pattern: unknown, place: Place): void {
  if (typeof pattern !== "string") return refuse(place, "must be a pattern, as text");
  if (pattern.length > MAX_PATTERN_LENGTH) {
    refuse(place, `is too long: a pattern may have ${MAX_PATTERN_LENGTH} characters`, MAX_PATTERN_LENGTH);
  }
  if (sizeOf(pattern, place) > MAX_PATTERN_SIZE) {
    refuse(
      place,
      `is too complex: compiled it may have ${MAX_PATTERN_SIZE} instructions. Use + or * instead of a long counted repetition`,
      MAX_PATTERN_SIZE,
    );
  }
}

function sizeOf(pattern: string, place: Place): number {
  try {
    return compilePattern(pattern).size;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refuse(
      place,
      `is not a pattern of RE2's syntax, which has no look-around and no back references: ${reason}`,
    );
  }
}

function own(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function allowKeys(value: Record<string, unknown>, allowed: readonly string[], place: Place): void {
  const unknown = Object.keys(value).find((key) => !allowed.includes(key));
  if (unknown !== undefined) {
    refuse([...place, unknown], `is not known here: there may be ${allowed.join(", ")}`);
  }
}
