/** What a flag does in each environment, and which of them is production. */
import type { EnvironmentSettings, Flag } from "../api/types.ts";

export interface EnvironmentState {
  readonly name: string;
  readonly settings: EnvironmentSettings;
  readonly enabled: boolean;
  readonly rolloutPercentage: number | undefined;
}

export function environmentsOf({ environments = {}, enabled, rolloutPercentage }: Flag): EnvironmentState[] {
  return Object.entries(environments)
    .map(([name, settings]) => ({
      name,
      settings,
      enabled: settings.enabled ?? enabled,
      rolloutPercentage: settings.rolloutPercentage ?? rolloutPercentage,
    }))
    .sort((one, other) => one.name.localeCompare(other.name));
}

export function isProduction(environment: string): boolean {
  return /^(?:prod|live$|main$)/i.test(environment);
}

/** Whether the flag's own switch decides in production: no environment of that name has a switch of its own. */
export function reachesProduction({ environments = {} }: Flag): boolean {
  return !Object.entries(environments).some(
    ([name, { enabled }]) => isProduction(name) && enabled !== undefined,
  );
}
