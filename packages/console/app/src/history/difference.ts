/** The difference of two stored entities, field by field. */
import type { JsonValue } from "../api/types.ts";

export interface Difference {
  /** Dotted, such as `environments.staging.enabled`. */
  readonly path: string;
  /** Undefined: the field did not exist. */
  readonly before: JsonValue | undefined;
  /** Undefined: the field is gone. */
  readonly after: JsonValue | undefined;
}

/** They change with every write and say nothing. */
const SILENT = new Set([
  "version",
  "updatedAt",
  "createdAt",
  "id",
  "flagId",
  "algo",
  "stats",
  "warnings",
  "position",
]);

const SETTINGS = /^environments(\.[^.]+)?$/;

export function differencesOf(before: unknown, after: unknown): Difference[] {
  return compare("", json(before), json(after)).filter(({ path }) => !SILENT.has(path));
}

function compare(path: string, before: JsonValue | undefined, after: JsonValue | undefined): Difference[] {
  // Conditions are one sentence.
  if (isObject(before) && isObject(after) && path !== "conditions") {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) =>
      compare(path === "" ? name : `${path}.${name}`, before[name], after[name]),
    );
  }
  // A new or deleted entity is listed by field, and so are the first and the last settings of an environment.
  const isListed = path === "" || SETTINGS.test(path);
  if (isListed && isObject(after)) return compare(path, {}, after);
  if (isListed && isObject(before)) return compare(path, before, {});
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

function isObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Dates become text, and absent fields are left out. */
function json(value: unknown): JsonValue | undefined {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
