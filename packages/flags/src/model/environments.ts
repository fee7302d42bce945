/** Changes of the settings of a flag by environment: a JSON merge patch (RFC 7396). */
import type { EnvironmentSettings } from "../engine/definition.ts";

/** A change of the settings of one environment. An absent field keeps its value; `null` removes it. */
export type EnvironmentSettingsPatch = {
  readonly [Field in keyof EnvironmentSettings]?: EnvironmentSettings[Field] | null | undefined;
};

/** A change of settings by environment. An absent environment keeps its settings; `null` removes it. */
export type EnvironmentsPatch = {
  readonly [name: string]: EnvironmentSettingsPatch | null | undefined;
};

type Environments = Readonly<Record<string, EnvironmentSettings>>;

/** The settings after the change; undefined if no environment is left. */
export function patchEnvironments(
  current: Environments | undefined,
  patch: EnvironmentsPatch,
): Environments | undefined {
  // Maps, because `__proto__` is a name like any other.
  const patched = new Map(Object.entries(current ?? {}));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) patched.delete(name);
    else if (change !== undefined) patched.set(name, patchSettings(patched.get(name), change));
  }
  return patched.size === 0 ? undefined : Object.fromEntries(patched);
}

function patchSettings(
  current: EnvironmentSettings | undefined,
  patch: EnvironmentSettingsPatch,
): EnvironmentSettings {
  const fields = new Map<string, unknown>(Object.entries(current ?? {}));
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) fields.delete(field);
    else if (value !== undefined) fields.set(field, value);
  }
  // Every value is that of a field of the same name.
  return Object.fromEntries(fields) as EnvironmentSettings;
}
