/** The override: a flag's value for one user, whatever the rules say. */
import type { JsonValue } from "../engine/json.ts";

export type FlagOverride = {
  readonly id: string;
  readonly flagId: string;
  readonly userId: string;
  readonly value: JsonValue;
  /** One of the flag's variants, given back with the value. */
  readonly variant?: string;
  /** A disabled override is as if absent. */
  readonly enabled: boolean;
  readonly reason?: string;
  /** From then on the override is as if absent. */
  readonly expiresAt?: Date;
  readonly createdAt: Date;
};

/** What a new override may be given. */
export type FlagOverrideInput = {
  flagId: string;
  userId: string;
  value: JsonValue;
  /** Defaults to `true`. */
  enabled?: boolean | undefined;
  variant?: string | undefined;
  reason?: string | undefined;
  /** ISO 8601, in the future. */
  expiresAt?: string | undefined;
};
