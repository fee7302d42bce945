/** Canonical JSON: equal values give equal text, regardless of the order of object keys. */
import { isPlainObject, MAX_JSON_DEPTH } from "../engine/json.ts";

/** Stands for values nested deeper than a request may be. It is not valid JSON, so it equals no other value. */
const TOO_DEEP = "…";

export function canonicalJson(value: unknown, levelsLeft: number = MAX_JSON_DEPTH): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (levelsLeft === 0) return TOO_DEEP;
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, levelsLeft - 1)).join(",")}]`;
  // Dates and other objects that server code may pass.
  if (!isPlainObject(value)) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field, levelsLeft - 1)}`);
  return `{${fields.join(",")}}`;
}
