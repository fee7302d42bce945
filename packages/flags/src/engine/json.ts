/** JSON values: their types, and the check that serialisation does not change a value. */

/** A JSON value. Values returned by the service are frozen, so the type is deeply read-only. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** Bounds recursion over a value, so that it cannot exhaust the stack. */
export const MAX_JSON_DEPTH: number = 64;

/** True for object literals and `JSON.parse` results of any realm; false for arrays, dates, maps and class instances. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True when serialising and parsing `value` as JSON gives the same value, and it has at most `levelsLeft` levels. */
export function isJsonValue(value: unknown, levelsLeft: number = MAX_JSON_DEPTH): value is JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (levelsLeft === 0) return false;
  if (Array.isArray(value)) {
    // Not `every`, which skips the holes of a sparse array; JSON turns them into null.
    for (const item of value) if (!isJsonValue(item, levelsLeft - 1)) return false;
    return true;
  }
  return isPlainObject(value) && Object.values(value).every((item) => isJsonValue(item, levelsLeft - 1));
}
