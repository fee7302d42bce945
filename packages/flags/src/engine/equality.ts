/** Equality of JSON values: deep, without coercion, indifferent to the order of an object's keys. */
import { isPlainObject, type JsonObject, type JsonValue } from "./json.ts";

type Entries = readonly (readonly [string, JsonValue])[];

/** A rule's operand is compared again and again and never changes: listing its keys each time would be most of the work. */
const known = new WeakMap<JsonObject, Entries>();

function entriesOf(operand: JsonObject): Entries {
  let entries = known.get(operand);
  if (entries === undefined) {
    entries = Object.entries(operand);
    known.set(operand, entries);
  }
  return entries;
}

/**
 * The depth walked is that of `expected`, which is bounded and must not change any more; `actual` may be anything, even
 * cyclic.
 */
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
  const entries = entriesOf(expected as JsonObject);
  return (
    entries.every(([key, value]) => Object.hasOwn(actual, key) && jsonEquals(value, actual[key])) &&
    Object.keys(actual).length === entries.length
  );
}
