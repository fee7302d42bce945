/** JSON in text columns: what goes in comes out, frozen, because many evaluations share it. */
import type { JsonValue } from "../engine/json.ts";

export function encodeJson(value: JsonValue): string {
  return JSON.stringify(value);
}

export function decodeJson(text: string): JsonValue {
  return freeze(JSON.parse(text));
}

/** An entity as the audit log keeps it, with those of its fields that are times made times again. */
export function reviveEntity<Entity extends object>(
  text: string | null,
  times: readonly (string & keyof Entity)[],
): Entity {
  const entity = text === null ? null : decodeJson(text);
  if (typeof entity !== "object" || entity === null || Array.isArray(entity)) {
    throw new Error("The audit log does not say what the change left.");
  }
  const revived: Record<string, unknown> = { ...entity };
  for (const field of times) {
    const value = revived[field];
    if (value === undefined) continue;
    const time = new Date(String(value));
    if (Number.isNaN(time.getTime())) throw new Error(`The audit log has no time in "${field}".`);
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
