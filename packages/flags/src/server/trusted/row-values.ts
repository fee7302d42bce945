/** Values of rows and of `compute` as the engine compares them. */
import { isJsonValue, isPlainObject, type JsonObject, type JsonValue } from "../../engine/json.ts";

/** Levels of nesting of one value. */
const MAX_DEPTH = 8;

/** The named fields of a row. A field whose value is not JSON is missing; dates are ISO 8601. */
export function pickFields(row: Readonly<Record<string, unknown>>, names: readonly string[]): JsonObject {
  const fields: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = jsonOf(row[name]);
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}

/** The result of `compute`, or undefined if it is not an object of JSON values. */
export function computedObject(result: unknown): JsonObject | undefined {
  if (!isPlainObject(result)) return undefined;
  const fields: Record<string, JsonValue> = {};
  for (const [name, given] of Object.entries(result)) {
    if (given === undefined) continue;
    const value = jsonOf(given);
    if (value === undefined) return undefined;
    fields[name] = value;
  }
  return fields;
}

function jsonOf(value: unknown): JsonValue | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (typeof value === "bigint") return Number(value);
  return isJsonValue(value, MAX_DEPTH) ? value : undefined;
}
