/**
 * One entity of a set of definitions as one line of JSON, on the connection and in the file: `["f", …]` is a flag,
 * `["s", …]` a segment, `["o", …]` an override. A record that ends after its name says that the entity is gone.
 */
import type { FlagDefinition, OverrideDefinition, RuleConditions } from "../../engine/definition.ts";

/** 0: the global flags. 1: those of the organization. Segments belong to one layer. */
export type LayerNumber = 0 | 1;

/** An override for evaluation. */
export interface RecordedOverride extends OverrideDefinition {
  /** `Infinity` if it does not expire. */
  readonly expiresAtMs: number;
}

/** Names an entity: a flag by key, a segment by layer and key, an override by flag key and user. */
export type RecordName =
  | readonly ["f", key: string]
  | readonly ["s", layer: LayerNumber, key: string]
  | readonly ["o", key: string, userId: string];

/** The id tells apart two flags that had the same key one after the other: their overrides do not mix. */
export function flagRecord(id: string, layer: LayerNumber, definition: FlagDefinition): string {
  return JSON.stringify(["f", definition.key, layer, id, definition]);
}

export function segmentRecord(layer: LayerNumber, key: string, conditions: RuleConditions): string {
  return JSON.stringify(["s", layer, key, conditions]);
}

export function overrideRecord(
  key: string,
  userId: string,
  { value, variant, expiresAtMs }: RecordedOverride,
): string {
  // JSON has no Infinity.
  return JSON.stringify([
    "o",
    key,
    userId,
    value,
    variant ?? null,
    Number.isFinite(expiresAtMs) ? expiresAtMs : null,
  ]);
}

/** The entity is gone. */
export function goneRecord(name: RecordName): string {
  return JSON.stringify(name);
}
