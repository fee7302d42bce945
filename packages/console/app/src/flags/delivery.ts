/** Who gets a flag in the environment that is shown, in a few words: its enabled rules first, then everyone else. */
import type { Flag } from "../api/types.ts";
import { environmentsOf } from "../flag/environments.ts";
import { texts } from "../texts.ts";
import { valueText } from "../ui/value.tsx";

export interface Delivery {
  readonly enabled: boolean;
  readonly text: string;
  /** Shares of everyone else, in percent: of the rollout, or of each variant. */
  readonly shares: readonly number[];
}

const MOST_CHARACTERS = 20;

/** `environment`: whose settings decide. */
export function deliveryOf(flag: Flag, environment: string | undefined): Delivery {
  const own = environmentsOf(flag).find(({ name }) => name === environment);
  const enabled = own?.enabled ?? flag.enabled;
  if (!enabled) return { enabled, text: texts.flags.offForEveryone, shares: [] };
  const rollout = own === undefined ? flag.rolloutPercentage : own.rolloutPercentage;
  const { ruleCount = 0, variants = [] } = flag;
  const weights = variants.map(({ weight }) => (weight * (rollout ?? 100)) / 100);
  const rest =
    variants.length > 1
      ? texts.flags.variants(weights)
      : rollout === undefined
        ? texts.flags.everyone(
            cut(valueText(own?.settings.defaultValue ?? flag.defaultValue ?? EMPTY[flag.type])),
          )
        : texts.flags.rollout(rollout, ruleCount > 0);
  return {
    enabled,
    text: ruleCount === 0 ? rest : texts.flags.rulesThen(ruleCount, rest),
    shares: variants.length > 1 ? weights : [rollout ?? 100],
  };
}

const EMPTY = { boolean: false, string: "", number: 0, json: null } as const;

function cut(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
}
