/** JSON in text columns: what goes in comes out, frozen, because many evaluations share it. */
import type { JsonValue } from "../engine/json.ts";

export function encodeJson(value: JsonValue): string {
  return JSON.stringify(value);
}

export function decodeJson(text: string): JsonValue {
  return freeze(JSON.parse(text));
}

function freeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) freeze(item);
    Object.freeze(value);
  }
  return value;
}
