/** JSON as text that is the same for the same value, in whatever order its keys came. */
import { isPlainObject, MAX_JSON_DEPTH } from "../engine/json.ts";

/** Nothing JSON can be: what is nested deeper than any request may be is not looked at. */
const TOO_DEEP = "…";

export function canonicalJson(value: unknown, levelsLeft: number = MAX_JSON_DEPTH): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (levelsLeft === 0) return TOO_DEEP;
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, levelsLeft - 1)).join(",")}]`;
  // A date, and whatever else server code may pass.
  if (!isPlainObject(value)) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field, levelsLeft - 1)}`);
  return `{${fields.join(",")}}`;
}
