/** Halyard's engine with overrides beside the flags, as in a tenant's snapshot, in any size. */
import type { OverrideDefinition } from "@halyard/flags/engine";
import { compileAll, contexts } from "./halyard.ts";
import { type Engine, keys, keysOf } from "./workload.ts";

export type Overrides = ReadonlyMap<string, ReadonlyMap<string, OverrideDefinition>>;

/** The same 100 flags are evaluated, however many there are. */
export function startStore(flagCount: number, overrideCount: number): Engine {
  const before = heapKb();
  const started = process.cpuUsage();
  const flags = compileAll(keysOf(flagCount));
  const compiled = process.cpuUsage(started);
  const afterFlags = heapKb();
  const overrides = overridesOf(overrideCount);
  const afterOverrides = heapKb();
  return {
    keys,
    isOn: (flag, user) => {
      const key = keys[flag] as string;
      const context = contexts[user] as { readonly userId: string };
      return flags.get(key)?.evaluate(context, overrides.get(key)?.get(context.userId)).value === true;
    },
    facts: {
      "µs to compile a flag": (compiled.user + compiled.system) / flagCount,
      "KB a flag": (afterFlags - before) / flagCount,
      "KB an override": (afterOverrides - afterFlags) / overrideCount,
    },
  };
}

/**
 * By flag, then by user. All belong to the evaluated flags, which is the worst case, and to users that are not
 * evaluated, so that the results stay those of the rules.
 */
export function overridesOf(count: number): Overrides {
  const overrides = new Map(keys.map((key) => [key, new Map<string, OverrideDefinition>()]));
  for (let index = 0; index < count; index++) {
    overrides.get(keys[index % keys.length] as string)?.set(`other-${index}`, { value: true });
  }
  return overrides;
}

function heapKb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024;
}
