/** Checks that values fit the type of their flag. */
import type { JsonValue } from "../../engine/json.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import { type FeatureFlag, fitsType } from "../../model/flag.ts";

/** Throws if the value does not fit. `details` name the field. */
export function requireFit(
  { type }: Pick<FeatureFlag, "type">,
  value: JsonValue | undefined,
  details: Readonly<Record<string, unknown>> & { readonly field: string },
): void {
  if (value === undefined || fitsType(type, value)) return;
  throw new FeatureFlagError(
    "INVALID_FLAG_TYPE",
    `${details.field} does not fit the type of the flag. Send a value of type ${type}.`,
    { details: { ...details, type } },
  );
}

/** Checks every value in the flag itself. */
export function requireOwnFit(flag: FeatureFlag): void {
  requireFit(flag, flag.defaultValue, { field: "defaultValue" });
  requireFit(flag, flag.offValue, { field: "offValue" });
  for (const [index, { value }] of (flag.variants ?? []).entries()) {
    requireFit(flag, value, { field: `variants.${index}.value` });
  }
  for (const [name, { defaultValue, offValue }] of Object.entries(flag.environments ?? {})) {
    requireFit(flag, defaultValue, { field: `environments.${name}.defaultValue` });
    requireFit(flag, offValue, { field: `environments.${name}.offValue` });
  }
}
