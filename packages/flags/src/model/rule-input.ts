/** Request bodies that create and update a targeting rule. */
import type * as z from "zod";
import { checkNewConditions } from "../engine/conditions.ts";
import type { RuleConditions } from "../engine/definition.ts";
import { FeatureFlagError } from "./errors.ts";
import { invalid, parse } from "./inputs.ts";
import { inputOf, patchOf } from "./kinds.ts";
import { type FlagRuleInput, type FlagRulePatch, RULE_FIELDS } from "./rule.ts";

/** The input of the server method that creates a rule. */
export type CreateFeatureFlagRuleInput = FlagRuleInput & { flagId: string };

const createFields = inputOf(RULE_FIELDS);
const patchFields = patchOf(RULE_FIELDS);

export const createRuleBody: z.ZodType = createFields;
export const rulePatchBody: z.ZodType = patchFields;

export function parseRuleInput(body: unknown): FlagRuleInput {
  const input = parse(createFields, body);
  if (input.value === undefined && input.variant === undefined) {
    throw invalid([
      { path: "value", message: "is required unless the rule has a variant; set value or variant" },
    ]);
  }
  return { ...input, conditions: checkedConditions(input.conditions) };
}

export function parseRulePatch(body: unknown): FlagRulePatch {
  const patch = parse(patchFields, body);
  return patch.conditions === undefined
    ? patch
    : { ...patch, conditions: checkedConditions(patch.conditions) };
}

/** Returns validated conditions, or throws `VALIDATION_ERROR`. */
export function checkedConditions(given: RuleConditions): RuleConditions {
  const checked = checkNewConditions(given);
  if (!("problem" in checked)) return checked.conditions;
  const { path, problem, limit } = checked;
  const field = path === "" ? "conditions" : `conditions.${path}`;
  if (limit === undefined) throw invalid([{ path: field, message: problem }]);
  throw new FeatureFlagError("VALIDATION_ERROR", `The request is not valid. ${field}: ${problem}`, {
    details: { limit, issues: [{ path: field, message: problem }] },
  });
}
