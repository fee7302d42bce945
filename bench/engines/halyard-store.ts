/** Halyard's engine with overrides beside the flags, as a tenant's snapshot has them, in any size. */
import type { OverrideDefinition } from "@halyard/flags/engine";
import { compileAll, contexts } from "./halyard.ts";
import { type Engine, keys, keysOf } from "./workload.ts";

/** The same 100 flags are asked for, however many there are. */
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
      return flags.get(key)?.evaluate(context, overrides.get(context.userId)?.get(key)).value === true;
    },
    facts: {
      "µs to compile a flag": (compiled.user + compiled.system) / flagCount,
      "KB a flag": (afterFlags - before) / flagCount,
      "KB an override": (afterOverrides - afterFlags) / overrideCount,
    },
  };
}

/** By user, then by flag, of users who do not ask: the answers stay those of the rules. */
function overridesOf(count: number): Map<string, Map<string, OverrideDefinition>> {
  return new Map(
    Array.from({ length: count }, (_, index) => [
      `other-${index}`,
      new Map([[keys[index % keys.length] as string, { value: true }]]),
    ]),
  );
}

function heapKb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024;
}
