/** The flags of the HTTP benches: those of the evaluation benches, as the service stores them. */
import type { CreateFeatureFlagInput, RuleConditions } from "@halyard/flags";
import { COUNTRY, keys, LOGINS, PLANS, SHARE } from "../../engines/workload.ts";

export { keys } from "../../engines/workload.ts";

function conditionsOn(plan: string): RuleConditions {
  return {
    operator: "AND",
    conditions: [
      { attribute: plan, operator: "in", value: [...PLANS] },
      {
        operator: "OR",
        conditions: [
          { attribute: "attributes.country", operator: "equals", value: COUNTRY },
          { attribute: "attributes.loginCount", operator: "greater_than", value: LOGINS },
        ],
      },
    ],
  };
}

const ruleOn = (plan: string) => ({
  conditions: conditionsOn(plan),
  value: true,
  percentage: SHARE,
  priority: 1,
});

export const flags: readonly CreateFeatureFlagInput[] = keys.map((key) => ({
  key,
  name: key,
  type: "boolean",
  enabled: true,
  defaultValue: false,
}));

/** Every flag has this rule. */
export const rule = ruleOn("attributes.plan");

/** The same with the plan in the user's row. */
export const trustedRule = ruleOn("user.plan");

/** One more flag with many rules, of which only the last matches. */
export const MANY_RULES_KEY = "many-rules";
const MANY_RULES = 100;

export const manyRules: readonly { conditions: RuleConditions; value: boolean; priority: number }[] =
  Array.from({ length: MANY_RULES }, (_, index) => ({
    conditions: {
      conditions: [
        index === MANY_RULES - 1
          ? { attribute: "plan", operator: "in", value: ["free", ...PLANS] }
          : { attribute: "attributes.country", operator: "equals", value: `nowhere-${index}` },
      ],
    },
    value: true,
    priority: index,
  }));
