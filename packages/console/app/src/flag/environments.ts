/** The environments that the console shows, and what a flag does in each of them. */
import type { EnvironmentSettings, Flag, JsonValue, Rule } from "../api/types.ts";
import type { Cell, EnvironmentField } from "./draft/cells.ts";

/** In the address: what holds where an environment has no value of its own. */
export const ALL_ENVIRONMENTS = "*";

interface EnvironmentOptions {
  readonly default?: string;
  readonly claimable?: readonly string[];
  readonly list?: readonly string[];
}

/** The declared environments; without a declaration, those that the flag, its rules and the options name. */
export function knownEnvironments(
  { list, default: standard, claimable = [] }: EnvironmentOptions,
  flag: Pick<Flag, "environments">,
  rules: readonly Rule[] = [],
): readonly string[] {
  if (list !== undefined) return list;
  const named = [...Object.keys(flag.environments ?? {}), ...claimable].sort();
  const ofRules = rules.flatMap(({ environments = [] }) => environments);
  return [...new Set([...(standard === undefined ? [] : [standard]), ...named, ...ofRules])];
}

/** What decides in an environment: its own value, or the flag's. */
export function settingOf<Field extends EnvironmentField>(
  flag: Pick<Flag, "environments" | EnvironmentField>,
  environment: string | undefined,
  field: Field,
): { readonly value: EnvironmentSettings[Field]; readonly isOwn: boolean } {
  const own = environment === undefined ? undefined : flag.environments?.[environment]?.[field];
  return own === undefined ? { value: flag[field], isOwn: false } : { value: own, isOwn: true };
}

export function settingCell(environment: string | undefined, field: EnvironmentField): Cell {
  return environment === undefined ? { field } : { field, environment };
}

/** A change of one setting, as an update of a flag takes it. */
export function settingPatch(environment: string | undefined, field: EnvironmentField, value: JsonValue) {
  return environment === undefined
    ? { [field]: value }
    : { environments: { [environment]: { [field]: value } } };
}

export function countsIn({ environments }: Rule, environment: string | undefined): boolean {
  return environment === undefined || environments === undefined || environments.includes(environment);
}

export const titleOf = (environment: string): string =>
  environment.charAt(0).toUpperCase() + environment.slice(1);

/** What a flag does in each of its environments, for the list of flags. */
export function environmentsOf(flag: Flag) {
  return Object.entries(flag.environments ?? {})
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, settings]) => ({
      name,
      settings,
      enabled: settingOf(flag, name, "enabled").value === true,
      rolloutPercentage: settingOf(flag, name, "rolloutPercentage").value,
    }));
}
