/** The override: a flag's value for one user, which takes precedence over the rules. */
import type { Entity, EntityInput } from "./fields.ts";

/** The fields of an override. */
export const OVERRIDE_FIELDS = {
  /** UUID v7. */
  id: { kind: "id", column: "overrideId" },
  /** The id of the flag. In an input also its key. */
  flagId: { kind: "reference" },
  /** The id of the user who gets the value. Better Auth need not know it. */
  userId: { kind: "name" },
  /** Must fit the type of the flag. */
  value: { kind: "json" },
  /** One of the flag's variants, returned with the value. */
  variant: { kind: "name", optional: true },
  /** A disabled override has no effect. Default `true`. */
  enabled: { kind: "boolean", default: true },
  /** For people. */
  reason: { kind: "text", optional: true },
  /** After this time the override has no effect. In an input: ISO 8601, in the future. */
  expiresAt: { kind: "expiry", optional: true },
  /** When the override was created. */
  createdAt: { kind: "created" },
} as const;

/** A flag's value for one user. */
export type FlagOverride = Entity<typeof OVERRIDE_FIELDS>;

/** The input that creates an override. */
export type FlagOverrideInput = EntityInput<typeof OVERRIDE_FIELDS>;
