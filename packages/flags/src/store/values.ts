/** Whether values fit the type of their flag: asked on every write, and of everything again when the type changes. */
import type { JsonValue } from "../engine/json.ts";
import { FeatureFlagError } from "../model/errors.ts";
import { type FeatureFlag, fitsType } from "../model/flag.ts";

/** Refuses a value that does not fit; `details` say where it stands. */
export function requireFit(
  { type }: Pick<FeatureFlag, "type">,
  value: JsonValue | undefined,
  details: Readonly<Record<string, unknown>> & { readonly field: string },
): void {
  if (value === undefined || fitsType(type, value)) return;
  throw new FeatureFlagError(
    "INVALID_FLAG_TYPE",
    `${details.field} does not fit the flag's type: it must be a ${type}.`,
    { details: { ...details, type } },
  );
}

/** Every value the flag itself holds. */
export function requireOwnFit(flag: FeatureFlag): void {
  requireFit(flag, flag.defaultValue, { field: "defaultValue" });
  for (const [index, { value }] of (flag.variants ?? []).entries()) {
    requireFit(flag, value, { field: `variants.${index}.value` });
  }
  for (const [name, { defaultValue }] of Object.entries(flag.environments ?? {})) {
    requireFit(flag, defaultValue, { field: `environments.${name}.defaultValue` });
  }
}

/** What a change of an optional field leaves: absent keeps what there is, `null` clears it. */
export function patched<Value>(
  current: Value | undefined,
  change: Value | null | undefined,
): Value | undefined {
  return change === undefined ? current : (change ?? undefined);
}

/** The same for a value of the flag: where its type is `json`, `null` is a value like any other. */
export function patchedValue(
  { type }: Pick<FeatureFlag, "type">,
  current: JsonValue | undefined,
  change: JsonValue | undefined,
): JsonValue | undefined {
  return change === null && type === "json" ? null : patched(current, change);
}
