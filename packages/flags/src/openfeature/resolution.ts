/** Converts evaluations to OpenFeature's resolution details, for the server provider and the web provider. */
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import { OPENFEATURE_REASONS } from "../model/openfeature.ts";

/** The value types of OpenFeature. */
export type ValueKind = "boolean" | "string" | "number" | "object";

export type ErrorName =
  | "PROVIDER_NOT_READY"
  | "FLAG_NOT_FOUND"
  | "TYPE_MISMATCH"
  | "INVALID_CONTEXT"
  | "GENERAL";

/** OpenFeature's resolution details, with its enums as plain strings. */
export interface Resolution {
  readonly value: JsonValue;
  readonly reason: string;
  readonly variant?: string;
  readonly errorCode?: ErrorName;
  readonly errorMessage?: string;
  readonly flagMetadata?: Record<string, string | number | boolean>;
}

interface Evaluation {
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason?: EvaluationReason;
  readonly flagMetadata?: Record<string, string | number | boolean>;
}

/** Returns the value if it has the requested type, else the default with the error. */
export function resolve(
  key: string,
  kind: ValueKind,
  defaultValue: JsonValue,
  evaluation: Evaluation,
): Resolution {
  const { value, variant, reason = "default", flagMetadata } = evaluation;
  if (reason === "not_found")
    return refuse(
      defaultValue,
      "FLAG_NOT_FOUND",
      `The flag "${key}" does not exist. Create it, or check the key.`,
    );
  if (typeof value !== kind) {
    return refuse(
      defaultValue,
      "TYPE_MISMATCH",
      `The flag "${key}" has a value of type ${typeof value}, not ${kind}. Read it with the method for its type.`,
    );
  }
  return {
    value,
    reason: OPENFEATURE_REASONS[reason],
    ...(variant !== undefined && { variant }),
    ...(flagMetadata && { flagMetadata }),
  };
}

export function refuse(defaultValue: JsonValue, errorCode: ErrorName, errorMessage: string): Resolution {
  return { value: defaultValue, reason: "ERROR", errorCode, errorMessage };
}

/** Reads the flag, value and properties from the details of a tracked event. Events of OpenFeature do not name a flag. */
export function readTracking(
  event: string,
  details: { readonly [key: string]: unknown },
): { flagKey: string; event: string; value?: number; properties?: { [key: string]: JsonValue } } | undefined {
  const { flagKey, value, ...others } = details;
  if (typeof flagKey !== "string") {
    console.warn(`[feature-flags] The event "${event}" was not tracked. Add flagKey to its details.`);
    return undefined;
  }
  // Converts dates and other values to JSON.
  const properties = JSON.parse(JSON.stringify(others));
  return {
    flagKey,
    event,
    ...(typeof value === "number" && { value }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}
