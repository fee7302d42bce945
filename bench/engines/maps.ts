/** The lookups of an evaluation without the evaluation: the cost of maps of these sizes. */
import { contexts } from "./halyard.ts";
import { overridesOf } from "./halyard-store.ts";
import { type Engine, keys, keysOf } from "./workload.ts";

export function startMaps(flagCount: number, overrideCount: number): Engine {
  const flags = new Map(keysOf(flagCount).map((key, index) => [key, { value: index % 5 === 0 }]));
  const overrides = overridesOf(overrideCount);
  return {
    keys,
    isOn: (flag, user) => {
      const key = keys[flag] as string;
      const { userId } = contexts[user] as { readonly userId: string };
      return overrides.get(key)?.get(userId) === undefined && flags.get(key)?.value === true;
    },
  };
}
