/** Changes of the settings of a flag by environment: a JSON merge patch (RFC 7396). */
import type { EnvironmentSettings } from "../engine/definition.ts";

/** A change of the settings of one environment. An absent field keeps its value; `null` removes it. */
export type EnvironmentSettingsPatch = {
  readonly [Field in keyof EnvironmentSettings]?: EnvironmentSettings[Field] | null | undefined;
};

/** A change of settings by environment. An absent environment keeps its settings; `null` removes it. */
export type EnvironmentsPatch = Readonly<Record<string, EnvironmentSettingsPatch | null | undefined>>;

type Environments = Readonly<Record<string, EnvironmentSettings>>;

/** The settings after the change; undefined if no environment is left. */
export function patchEnvironments(
  current: Environments = {},
  patch: EnvironmentsPatch,
): Environments | undefined {
  const patched = merge(current, patch, (settings, change) =>
    merge(settings ?? {}, change, (_, value) => value),
  );
  return Object.keys(patched).length === 0 ? undefined : patched;
}

function merge<Value, Change>(
  current: Readonly<Record<string, Value>>,
  patch: { readonly [name: string]: Change },
  apply: (value: Value | undefined, change: NonNullable<Change>) => Value,
): Record<string, Value> {
  // A map, because `__proto__` is a name like any other.
  const merged = new Map(Object.entries(current));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name);
    else if (change !== undefined) merged.set(name, apply(merged.get(name), change as NonNullable<Change>));
  }
  return Object.fromEntries(merged);
}
