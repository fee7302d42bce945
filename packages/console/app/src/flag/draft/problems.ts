/** What is missing in a draft, so that it cannot be part of a plan. */
import type { RuleConditions } from "../../api/types.ts";
import { isGroup, isSegment } from "../../rules/sentence.ts";
import type { Stored } from "./cells.ts";

/** Where something is missing in a group: the way to the condition, such as `0.conditions.1`, or to an empty group. */
export interface Missing {
  readonly at: string;
  readonly what: "attribute" | "value" | "segment" | "group";
}

export interface Problem {
  /** Undefined: the flag's variants. */
  readonly rule?: string;
  readonly at: string;
  readonly what: Missing["what"] | "name" | "variant" | "environments" | "percentage";
}

export function missingIn(group: RuleConditions, path = ""): Missing[] {
  const within = group.conditions.flatMap((condition, place): Missing[] => {
    const at = `${path}${place}`;
    if (isGroup(condition)) {
      const isHollow = condition.conditions.length === 0 && condition.not === undefined;
      return isHollow ? [{ at, what: "group" }] : missingIn(condition, `${at}.`);
    }
    if (isSegment(condition)) return condition.segment === "" ? [{ at, what: "segment" }] : [];
    if (condition.attribute.trim() === "") return [{ at, what: "attribute" }];
    const { value } = condition;
    const isUnset = value === "" || (Array.isArray(value) && value.length === 0);
    return isUnset ? [{ at, what: "value" }] : [];
  });
  if (group.not === undefined) return within;
  if (group.not.conditions.length === 0) return [...within, { at: `${path}not`, what: "group" }];
  return [...within, ...missingIn(group.not, `${path}not.`)];
}

/** Of the rules, only those that were `touched`. */
export function problemsIn({ flag, rules }: Stored, touched: ReadonlySet<string>): Problem[] {
  const ofRules = rules.flatMap(({ id, conditions, environments, percentage = 0, variant }): Problem[] => {
    const isGone = variant !== undefined && !flag.variants?.some(({ key }) => key === variant);
    const gone: Problem[] = isGone ? [{ rule: id, at: "", what: "variant" }] : [];
    if (!touched.has(id)) return gone;
    return [
      ...missingIn(conditions).map((one) => ({ ...one, rule: id })),
      ...(environments?.length === 0 ? [{ rule: id, at: "", what: "environments" as const }] : []),
      ...(percentage >= 0 && percentage <= 100 ? [] : [{ rule: id, at: "", what: "percentage" as const }]),
      ...gone,
    ];
  });
  const keys = flag.variants?.map(({ key }) => key.trim()) ?? [];
  const ofVariants = keys.flatMap((key, place): Problem[] =>
    key === "" || keys.indexOf(key) !== place ? [{ at: String(place), what: "variant" }] : [],
  );
  return [...ofRules, ...ofVariants, ...(flag.name.trim() === "" ? [{ at: "", what: "name" as const }] : [])];
}
