/** Equality of JSON values: deep, without coercion, indifferent to the order of an object's keys. */
import { isPlainObject, type JsonValue } from "./json.ts";

/** The depth walked is that of `expected`, which is bounded; `actual` may be anything, even cyclic. */
export function jsonEquals(expected: JsonValue, actual: unknown): boolean {
  if (expected === actual) return true;
  if (typeof expected !== "object" || expected === null) return false;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    for (let index = 0; index < expected.length; index++) {
      if (!jsonEquals(expected[index], actual[index])) return false;
    }
    return true;
  }
  if (!isPlainObject(actual)) return false;
  const entries = Object.entries(expected);
  if (Object.keys(actual).length !== entries.length) return false;
  return entries.every(([key, value]) => Object.hasOwn(actual, key) && jsonEquals(value, actual[key]));
}
