/** A flag as the toolbar shows it: what reads return, and what the server evaluated. */
import type { FlagDeclaration, FlagState, JsonValue } from "@halyard/flags/client";
import type { ClientSeam } from "@halyard/flags/unstable-devtools";

export interface ShownFlag {
  readonly key: string;
  /** What reads without a default of their own return. */
  readonly value: JsonValue | undefined;
  readonly isOverridden: boolean;
  /** Undefined if the server has no such flag for this session, or if its value is not as declared. */
  readonly evaluated: FlagState | undefined;
  readonly declaration: FlagDeclaration | undefined;
}

type Why = { readonly label: string; readonly sentence: string };

const REASONS: Readonly<Record<NonNullable<FlagState["reason"]>, Why>> = {
  rule_match: { label: "rule", sentence: "A rule of the flag matches." },
  override: { label: "user override", sentence: "The server has an override of this flag for the user." },
  percentage_rollout: {
    label: "rollout",
    sentence: "The rollout includes the user.",
  },
  default: { label: "default", sentence: "No rule matches and no rollout includes the user." },
  disabled: { label: "off", sentence: "The flag is turned off." },
  not_found: { label: "not found", sentence: "The server has no such flag." },
};
const UNKNOWN: Why = { label: "no reason", sentence: "The server sent no reason with this value." };
const MISSING: Why = {
  label: "not on the server",
  sentence:
    "The server has no such flag for this session, or its value does not fit the declaration. Reads return the default.",
};

/** All flags of the client, in the order of their keys: those of the server, the declared ones and the overridden ones. */
export function listFlags(seam: ClientSeam): ShownFlag[] {
  const keys = new Set([...Object.keys(seam.values.all()), ...Object.keys(seam.declared)]);
  return [...keys].sort((one, other) => (one < other ? -1 : 1)).map((key) => findFlag(seam, key));
}

export function findFlag({ values, declared }: ClientSeam, key: string): ShownFlag {
  const state = values.read(key);
  return {
    key,
    value: state === undefined ? values.fallback(key) : state.value,
    isOverridden: values.isOverridden(key),
    evaluated: values.evaluated(key),
    declaration: Object.hasOwn(declared, key) ? declared[key] : undefined,
  };
}

/** Why the server gives the flag its value. */
export function whyOf({ evaluated }: ShownFlag): Why {
  if (evaluated === undefined) return MISSING;
  const { reason } = evaluated;
  // Pages may supply any text as a reason.
  const why = reason !== undefined && Object.hasOwn(REASONS, reason) ? REASONS[reason] : UNKNOWN;
  if (evaluated.variant === undefined) return why;
  const variant = textOf(evaluated.variant);
  const sentence =
    reason === "percentage_rollout"
      ? `The variant ${variant} was chosen by its weight.`
      : `${why.sentence} The variant is ${variant}.`;
  return { label: `${why.label}, variant ${evaluated.variant}`, sentence };
}

const MAX_TEXT = 4_000;

/** The value as JSON, cut after 4,000 characters. */
export function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return "undefined";
  const text = JSON.stringify(value);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
