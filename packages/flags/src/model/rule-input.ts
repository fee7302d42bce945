/** The bodies that make and change a targeting rule. */
import * as z from "zod";
import { checkConditions } from "../engine/conditions.ts";
import type { RuleConditions } from "../engine/definition.ts";
import { FeatureFlagError } from "./errors.ts";
import { conditions, invalid, json, name, parse, percentage } from "./inputs.ts";
import type { FlagRuleInput, FlagRulePatch } from "./rule.ts";

/** What a new rule through the server method is given. */
export type CreateFeatureFlagRuleInput = FlagRuleInput & { flagId: string };

const createBody = z.strictObject({
  priority: z.number(),
  conditions,
  name: name.optional(),
  value: json.optional(),
  variant: name.optional(),
  percentage: percentage.optional(),
  enabled: z.boolean().optional(),
});

const patchBody = z.strictObject({
  priority: z.number().optional(),
  name: name.nullish(),
  conditions: conditions.optional(),
  value: json.optional(),
  variant: name.nullish(),
  percentage: percentage.nullish(),
  enabled: z.boolean().optional(),
});

export function parseRuleInput(body: unknown): FlagRuleInput {
  const input = parse(createBody, body);
  if (input.value === undefined && input.variant === undefined) {
    throw invalid([{ path: "value", message: "a rule needs a value, or the variant that has one" }]);
  }
  return { ...input, conditions: checkedConditions(input.conditions) };
}

export function parseRulePatch(body: unknown): FlagRulePatch {
  const patch = parse(patchBody, body);
  return patch.conditions === undefined
    ? patch
    : { ...patch, conditions: checkedConditions(patch.conditions) };
}

/** The conditions if the engine can evaluate them. */
export function checkedConditions(given: RuleConditions): RuleConditions {
  const checked = checkConditions(given);
  if (!("problem" in checked)) return checked.conditions;
  const { path, problem, limit } = checked;
  const field = path === "" ? "conditions" : `conditions.${path}`;
  if (limit === undefined) throw invalid([{ path: field, message: problem }]);
  throw new FeatureFlagError("VALIDATION_ERROR", `The request is not valid. ${field}: ${problem}`, {
    details: { limit, issues: [{ path: field, message: problem }] },
  });
}
