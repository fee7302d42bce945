/** Encodes and decodes JSON in text columns. Decoded values are frozen, because evaluations share them. */
import type { JsonValue } from "../../engine/json.ts";

export function encodeJson(value: JsonValue): string {
  return JSON.stringify(value);
}

export function decodeJson(text: string): JsonValue {
  return freeze(JSON.parse(text));
}

/** Decodes an entity from the audit log and turns the fields in `times` into dates. */
export function reviveEntity<Entity extends object>(
  text: string | null,
  times: readonly (string & keyof Entity)[],
): Entity {
  const entity = text === null ? null : decodeJson(text);
  if (typeof entity !== "object" || entity === null || Array.isArray(entity)) {
    throw new Error("An audit entry holds no entity after its change.");
  }
  const revived: Record<string, unknown> = { ...entity };
  for (const field of times) {
    const value = revived[field];
    if (value === undefined) continue;
    const time = new Date(String(value));
    if (Number.isNaN(time.getTime()))
      throw new Error(`An audit entry has an invalid time in the field "${field}".`);
    revived[field] = time;
  }
  return revived as Entity;
}

function freeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) freeze(item);
    Object.freeze(value);
  }
  return value;
}
