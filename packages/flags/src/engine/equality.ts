/** Deep equality of JSON values, without coercion. The order of object keys does not matter. */
import { isPlainObject, type JsonObject, type JsonValue } from "./json.ts";

type Entries = readonly (readonly [string, JsonValue])[];

/** The entries of operands. An operand never changes, and listing its keys for every comparison would dominate the cost. */
const cachedEntries = new WeakMap<JsonObject, Entries>();

function entriesOf(operand: JsonObject): Entries {
  let entries = cachedEntries.get(operand);
  if (entries === undefined) {
    entries = Object.entries(operand);
    cachedEntries.set(operand, entries);
  }
  return entries;
}

/**
 * Recurses as deep as `expected`, which has bounded depth and must not change afterwards. `actual` may be anything, even
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
  for (const [key, value] of entries) {
    if (!Object.hasOwn(actual, key) || !jsonEquals(value, actual[key])) return false;
  }
  return Object.keys(actual).length === entries.length;
}
