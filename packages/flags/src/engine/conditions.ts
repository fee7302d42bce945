/** Validation of conditions that come from a request or from the database. */
import type { RuleConditions } from "./definition.ts";
import { isJsonValue, isPlainObject, MAX_JSON_DEPTH } from "./json.ts";
import { isOperator, OPERATORS, takesPattern } from "./operators.ts";
import type { ConditionProblem } from "./problem.ts";
import { MAX_REGEX_CONDITIONS } from "./references.ts";

export type { ConditionProblem } from "./problem.ts";
export { checkReferences, costOf, countRegex, segmentsOf } from "./references.ts";

/** Nesting of groups, including the outermost one. */
const MAX_CONDITION_DEPTH = 10;
/** Conditions, groups and segment references in one tree, including its root. */
const MAX_CONDITION_NODES = 200;
/** The clean copy of valid conditions, or the first problem. */
export type CheckedConditions = { readonly conditions: RuleConditions } | ConditionProblem;

type Member = RuleConditions["conditions"][number];

/** Returns a clean copy of the conditions, or the first problem. */
export function checkConditions(value: unknown): CheckedConditions {
  return check(value, new Traversal(false));
}

/** The same for conditions that are written now. Stored ones may also have operands that hold for every text. */
export function checkNewConditions(value: unknown): CheckedConditions {
  return check(value, new Traversal(true));
}

function check(value: unknown, traversal: Traversal): CheckedConditions {
  try {
    return { conditions: traversal.group(value, [], 1) };
  } catch (error) {
    if (error instanceof ProblemFound) return error.problem;
    throw error;
  }
}

/** Ends the traversal at the first problem. */
class ProblemFound extends Error {
  readonly problem: ConditionProblem;

  constructor(problem: ConditionProblem) {
    super(problem.problem);
    this.problem = problem;
  }
}

/** The path of a value within the conditions. */
type Place = readonly (string | number)[];

function refuse(place: Place, problem: string, limit?: number): never {
  throw new ProblemFound({ problem, path: place.join("."), ...(limit !== undefined && { limit }) });
}

/** An empty operand of these operators holds for every text. It is usually a field that was left empty. */
const NEED_TEXT: ReadonlySet<unknown> = new Set(["starts_with", "ends_with", "contains", "regex"]);

class Traversal {
  readonly #isNew: boolean;
  #nodes = 0;
  #patterns = 0;

  constructor(isNew: boolean) {
    this.#isNew = isNew;
  }

  group(value: unknown, place: Place, depth: number): RuleConditions {
    if (Array.isArray(value)) {
      return refuse(place, "must be a group, not a list; wrap the list: { `conditions`: […] }");
    }
    if (!isPlainObject(value)) return refuse(place, "must be an object with a list `conditions`");
    this.#count(place);
    if (depth > MAX_CONDITION_DEPTH) {
      refuse(
        place,
        `is nested too deeply; nest groups at most ${MAX_CONDITION_DEPTH} levels deep`,
        MAX_CONDITION_DEPTH,
      );
    }
    allowKeys(value, ["operator", "conditions", "not"], place);
    const operator = readOwn(value, "operator");
    if (operator !== undefined && operator !== "AND" && operator !== "OR") {
      return refuse([...place, "operator"], "must be `AND` or `OR`");
    }
    const members = readOwn(value, "conditions");
    if (!Array.isArray(members)) return refuse([...place, "conditions"], "must be a list; it may be empty");
    // Not `map`, which skips the holes of a sparse array.
    const conditions: Member[] = [];
    for (let index = 0; index < members.length; index++) {
      conditions.push(this.#member(members[index], [...place, "conditions", index], depth));
    }
    const not = readOwn(value, "not");
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
        // Counted before the pattern is compiled, which costs more than all other checks.
        if (takesPattern(value["operator"])) this.#countPattern(place);
        if (this.#isNew && value["value"] === "" && NEED_TEXT.has(value["operator"])) {
          refuse(
            [...place, "value"],
            `of the operator \`${value["operator"]}\` must not be empty, because every text would match; enter a text, or use \`equals\` to match the empty text`,
          );
        }
        return simple(value, place);
      }
    }
    return refuse(place, "must be a condition with `attribute`, a group with `conditions`, or a `segment`");
  }

  #countPattern(place: Place): void {
    this.#patterns += 1;
    if (this.#patterns <= MAX_REGEX_CONDITIONS) return;
    refuse(
      place,
      `exceeds the limit of ${MAX_REGEX_CONDITIONS} regex conditions in a flag; remove or combine some`,
      MAX_REGEX_CONDITIONS,
    );
  }

  #count(place: Place): void {
    this.#nodes += 1;
    if (this.#nodes <= MAX_CONDITION_NODES) return;
    refuse(
      place,
      `exceeds the limit of ${MAX_CONDITION_NODES} conditions and groups; split them into segments`,
      MAX_CONDITION_NODES,
    );
  }
}

function segment(value: Record<string, unknown>, place: Place): Member {
  allowKeys(value, ["segment"], place);
  const key = readOwn(value, "segment");
  if (typeof key !== "string" || key === "")
    return refuse([...place, "segment"], "must be the key of a segment");
  return { segment: key };
}

function simple(value: Record<string, unknown>, place: Place): Member {
  allowKeys(value, ["attribute", "operator", "value"], place);
  const attribute = readOwn(value, "attribute");
  if (typeof attribute !== "string" || attribute === "") {
    return refuse(
      [...place, "attribute"],
      "must be the path of an attribute, such as `plan` or `geo.country`",
    );
  }
  const operator = readOwn(value, "operator");
  if (!isOperator(operator)) {
    return refuse([...place, "operator"], `must be one of ${Object.keys(OPERATORS).join(", ")}`);
  }
  const operand = readOwn(value, "value");
  if (operand === undefined)
    return refuse([...place, "value"], "is required; to compare with null, use `null`");
  const wrong = OPERATORS[operator].checkOperand(operand);
  if (wrong !== undefined) {
    return refuse([...place, "value"], `of the operator \`${operator}\` ${wrong.problem}`, wrong.limit);
  }
  if (!isJsonValue(operand)) {
    return refuse([...place, "value"], `must be JSON, at most ${MAX_JSON_DEPTH} levels deep`);
  }
  return { attribute, operator, value: operand };
}

function readOwn(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function allowKeys(value: Record<string, unknown>, allowed: readonly string[], place: Place): void {
  const unknownKey = Object.keys(value).find((key) => !allowed.includes(key));
  if (unknownKey !== undefined) {
    refuse([...place, unknownKey], `is an unknown key; the allowed keys are ${allowed.join(", ")}`);
  }
}
