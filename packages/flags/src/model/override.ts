/** The override: a flag's value for one user, which takes precedence over the rules. */
import type { JsonValue } from "../engine/json.ts";

/** A flag's value for one user. */
export type FlagOverride = {
  /** UUID v7. */
  readonly id: string;
  /** The flag that is overridden. */
  readonly flagId: string;
  /** The user who gets the value. */
  readonly userId: string;
  /** Fits the type of the flag. */
  readonly value: JsonValue;
  /** One of the flag's variants, returned with the value. */
  readonly variant?: string;
  /** A disabled override has no effect. */
  readonly enabled: boolean;
  /** For people. */
  readonly reason?: string;
  /** After this time the override has no effect. */
  readonly expiresAt?: Date;
  /** When the override was created. */
  readonly createdAt: Date;
};

/** The input that creates an override. */
export type FlagOverrideInput = {
  /** The id of the flag, or `key:<key>`. */
  flagId: string;
  /** The id of the user, not the email. */
  userId: string;
  /** Must fit the type of the flag. */
  value: JsonValue;
  /** Defaults to `true`. */
  enabled?: boolean | undefined;
  /** One of the flag's variants, returned with the value. */
  variant?: string | undefined;
  /** For people. */
  reason?: string | undefined;
  /** ISO 8601, in the future. */
  expiresAt?: string | undefined;
};
