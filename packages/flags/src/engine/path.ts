/** Attributes of a context: where a dotted path begins, and how it is followed without ever leaving own JSON data. */
import type { EvaluationContext } from "./definition.ts";
import { isPlainObject } from "./json.ts";

export type Root =
  | "userId"
  | "email"
  | "role"
  | "organizationId"
  | "anonymousId"
  | "environment"
  | "device"
  | "geo"
  | "attributes";

export interface Path {
  readonly root: Root;
  /** What is read of the root, one own property after the other; empty for the root itself. */
  readonly steps: readonly string[];
}

const FIELDS: ReadonlySet<string> = new Set<Root>([
  "userId",
  "email",
  "role",
  "organizationId",
  "anonymousId",
  "environment",
]);
const OBJECTS: ReadonlySet<string> = new Set<Root>(["device", "geo", "attributes"]);

/** A name that is no root reads `attributes.<name>`; so do `device`, `geo` and `attributes` with nothing after them. */
export function parsePath(path: string): Path {
  if (FIELDS.has(path)) return { root: path as Root, steps: [] };
  const steps = path.split(".");
  const [first = ""] = steps;
  if (steps.length > 1 && OBJECTS.has(first)) return { root: first as Root, steps: steps.slice(1) };
  return { root: "attributes", steps };
}

/** What is at the path; `undefined` when it is missing. */
export function readPath(context: EvaluationContext, { root, steps }: Path): unknown {
  let value: unknown = context[root];
  for (const step of steps) value = readOwn(value, step);
  return value;
}

/** One step: strings, arrays and class instances have no properties for a path to find. */
function readOwn(value: unknown, name: string): unknown {
  return isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
