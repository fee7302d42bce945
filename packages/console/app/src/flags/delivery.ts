/** Who gets a flag while it is on, in a few words. */
import type { Flag } from "../api/types.ts";
import { texts } from "../texts.ts";
import { valueText } from "../ui/value.tsx";

export interface Delivery {
  readonly text: string;
  /** The share of users, where the flag has one. */
  readonly percentage?: number;
}

export function deliveryOf({ variants = [], rolloutPercentage, defaultValue, type }: Flag): Delivery {
  const share = rolloutPercentage === undefined ? {} : { percentage: rolloutPercentage };
  if (variants.length > 0) {
    return { text: texts.flags.variants(variants.length, rolloutPercentage), ...share };
  }
  if (rolloutPercentage !== undefined) return { text: texts.flags.rollout(rolloutPercentage), ...share };
  const value = defaultValue ?? { boolean: false, string: "", number: 0, json: null }[type];
  const text = valueText(value);
  return { text: texts.flags.everyone(text.length > 24 ? `${text.slice(0, 23)}…` : text) };
}
