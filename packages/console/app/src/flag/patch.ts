/** Changes of a flag as data: applied for display, and turned around for Undo. */
import { patchEnvironments } from "@halyard/flags/console";
import type { InfiniteData } from "@tanstack/react-query";
import type { EnvironmentsPatch, FeatureFlagPatch, Flag, Page } from "../api/types.ts";

export type FlagPages = InfiniteData<{ flags: Flag[]; page: Page }>;

/** The flag after the change. `null` clears a field, except a value of a JSON flag. */
export function patched(flag: Flag, { environments, ...fields }: FeatureFlagPatch): Flag {
  const next: Record<string, unknown> = { ...flag };
  if (environments !== undefined) {
    const settings = environments && patchEnvironments(flag.environments, environments);
    if (settings) next["environments"] = settings;
    else delete next["environments"];
  }
  for (const [name, value] of Object.entries(fields)) {
    const isValue = flag.type === "json" && (name === "defaultValue" || name === "offValue");
    if (value === null && !isValue) delete next[name];
    else next[name] = value;
  }
  return next as unknown as Flag;
}

/** The change that brings the fields back to what they are in `flag`. */
export function inversePatch(flag: Flag, fields: FeatureFlagPatch): FeatureFlagPatch {
  const { environments } = fields;
  const inverse = inverseOf({ ...flag }, fields);
  return environments ? { ...inverse, environments: inverseEnvironments(flag, environments) } : inverse;
}

function inverseEnvironments(
  { environments: current = {} }: Flag,
  environments: EnvironmentsPatch,
): EnvironmentsPatch {
  const entries = Object.entries(environments).map(([name, change]) => {
    const settings = current[name];
    return [name, settings && change ? inverseOf(settings, change) : (settings ?? null)];
  });
  return Object.fromEntries(entries);
}

function inverseOf(current: object, fields: object): object {
  const values = new Map<string, unknown>(Object.entries(current));
  return Object.fromEntries(Object.keys(fields).map((name) => [name, values.get(name) ?? null]));
}
