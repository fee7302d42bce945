/** What an evaluation of ours is in OpenFeature's words, on the server and in a page alike. */
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import { OPENFEATURE_REASONS } from "../model/openfeature.ts";

/** The kinds of value OpenFeature asks for. */
export type ValueKind = "boolean" | "string" | "number" | "object";

export type ErrorName =
  | "PROVIDER_NOT_READY"
  | "FLAG_NOT_FOUND"
  | "TYPE_MISMATCH"
  | "INVALID_CONTEXT"
  | "GENERAL";

/** OpenFeature's resolution details, with its enums as the text they are. */
export interface Resolution {
  readonly value: JsonValue;
  readonly reason: string;
  readonly variant?: string;
  readonly errorCode?: ErrorName;
  readonly errorMessage?: string;
  readonly flagMetadata?: Record<string, string | number | boolean>;
}

interface Found {
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason?: EvaluationReason;
  readonly flagMetadata?: Record<string, string | number | boolean>;
}

/** The value if it is of the kind that was asked for, else the default and why. */
export function resolve(key: string, kind: ValueKind, defaultValue: JsonValue, found: Found): Resolution {
  const { value, variant, reason = "default", flagMetadata } = found;
  if (reason === "not_found") return refuse(defaultValue, "FLAG_NOT_FOUND", `There is no flag ${key}.`);
  if (typeof value !== kind) {
    return refuse(defaultValue, "TYPE_MISMATCH", `${key} is of the type ${typeof value}, not ${kind}.`);
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

/** What a tracked event is about: OpenFeature's events name no flag, ours do. */
export function readTracking(
  event: string,
  details: { readonly [key: string]: unknown },
): { flagKey: string; event: string; value?: number; properties?: { [key: string]: JsonValue } } | undefined {
  const { flagKey, value, ...others } = details;
  if (typeof flagKey !== "string") {
    console.warn(`[feature-flags] The event ${event} was not tracked: its details name no flagKey.`);
    return undefined;
  }
  // Dates and the like become what JSON makes of them.
  const properties = JSON.parse(JSON.stringify(others));
  return {
    flagKey,
    event,
    ...(typeof value === "number" && { value }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}
