/** The flag as the service keeps it and returns it. */
import type { FlagType } from "../engine/evaluate.ts";
import type { JsonValue } from "../engine/json.ts";

export type JsonObject = { readonly [key: string]: JsonValue };

export type FeatureFlag = {
  readonly id: string;
  /** Unique, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly type: FlagType;
  /** While false, evaluation gives `defaultValue` with reason `disabled`. */
  readonly enabled: boolean;
  readonly defaultValue?: JsonValue;
  /** Free-form notes for people and tools; evaluation neither reads nor returns them. */
  readonly metadata?: JsonObject;
  /** Counts the changes to this flag, from 1. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

/** Where a flag of no organization is kept. */
export const NO_ORGANIZATION: string = "";

export const FLAG_TYPES: readonly FlagType[] = ["boolean", "string", "number", "json"];

export function isFlagType(value: unknown): value is FlagType {
  return FLAG_TYPES.some((type) => type === value);
}

/** Whether a JSON value may be a value of a flag of this type. */
export function fitsType(type: FlagType, value: JsonValue): boolean {
  return type === "json" || typeof value === type;
}
