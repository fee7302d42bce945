/** Halyard's engine with 1,000 flags evaluated together, as a bootstrap does. */
import type { EvaluationContext } from "@halyard/flags/engine";
import { compileAll, contexts } from "./halyard.ts";
import { type Engine, keysOf } from "./workload.ts";

export function start(): Engine {
  const keys = keysOf(1_000);
  const flags = compileAll(keys);
  const bootstrap = (context: EvaluationContext): [string, unknown][] => {
    const results: [string, unknown][] = [];
    for (const [key, flag] of flags) results.push([key, flag.evaluate(context).value]);
    return results;
  };
  return {
    keys,
    evaluationsPerCall: keys.length,
    isOn: (_flag, user) => bootstrap(contexts[user] as EvaluationContext).length === keys.length,
  };
}
