/** Halyard's engine: a map of compiled flags. */
import { type CompiledFlag, compileFlag, type FlagDefinition } from "@halyard/flags/engine";
import { COUNTRY, type Engine, keys, LOGINS, PLANS, SHARE, users } from "./workload.ts";

/** As the service stores it: flags share nothing. */
export function definitionOf(key: string): FlagDefinition {
  return {
    key,
    type: "boolean",
    enabled: true,
    defaultValue: false,
    rules: [
      {
        id: `rule-of-${key}`,
        enabled: true,
        conditions: {
          operator: "AND",
          conditions: [
            { attribute: "attributes.plan", operator: "in", value: [...PLANS] },
            {
              operator: "OR",
              conditions: [
                { attribute: "attributes.country", operator: "equals", value: COUNTRY },
                { attribute: "attributes.loginCount", operator: "greater_than", value: LOGINS },
              ],
            },
          ],
        },
        value: true,
        percentage: SHARE,
        salt: "a",
      },
    ],
  };
}

export function compileAll(names: readonly string[]): Map<string, CompiledFlag> {
  const segments = new Map();
  return new Map(names.map((key) => [key, compileFlag(definitionOf(key), segments)]));
}

export const contexts = users.map(({ id, plan, country, loginCount }) => ({
  userId: id,
  attributes: { plan, country, loginCount },
}));

export function start(): Engine {
  const flags = compileAll(keys);
  return {
    keys,
    isOn: (flag, user) => flags.get(keys[flag] as string)?.evaluate(contexts[user] as object).value === true,
  };
}
