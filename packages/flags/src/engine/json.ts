/** What a flag's value may be: JSON, and nothing that JSON would change on its way. */

/** A JSON value. Values handed out by the service are frozen, so the type is read-only all the way down. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export type JsonObject = { readonly [key: string]: JsonValue };

/** Deep enough for any real configuration, shallow enough that no walk over it exhausts the stack. */
export const MAX_JSON_DEPTH: number = 64;

/** True for object literals and `JSON.parse` results of any realm; false for arrays, dates, maps and class instances. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True when writing `value` as JSON and reading it back gives the same value, within `MAX_JSON_DEPTH` levels. */
export function isJsonValue(value: unknown, levelsLeft: number = MAX_JSON_DEPTH): value is JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (levelsLeft === 0) return false;
  if (Array.isArray(value)) {
    // Not `every`: it skips the holes of a sparse array, which JSON would turn into null.
    for (const item of value) if (!isJsonValue(item, levelsLeft - 1)) return false;
    return true;
  }
  return isPlainObject(value) && Object.values(value).every((item) => isJsonValue(item, levelsLeft - 1));
}
