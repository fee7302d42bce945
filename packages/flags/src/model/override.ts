/** The override: a flag's value for one user, which takes precedence over the rules. */
import type { JsonValue } from "../engine/json.ts";

export type FlagOverride = {
  readonly id: string;
  readonly flagId: string;
  readonly userId: string;
  readonly value: JsonValue;
  /** One of the flag's variants, returned with the value. */
  readonly variant?: string;
  /** A disabled override has no effect. */
  readonly enabled: boolean;
  readonly reason?: string;
  /** After this time the override has no effect. */
  readonly expiresAt?: Date;
  readonly createdAt: Date;
};

/** The input that creates an override. */
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
