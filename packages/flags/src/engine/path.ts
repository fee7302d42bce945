/** Attribute paths: parsing of dotted paths, and reads that follow only own properties of plain objects. */
import type { EvaluationContext, TrustedRoot } from "./definition.ts";
import { isPlainObject } from "./json.ts";

/** The fields of the context that hold one value, each a whole path. */
const FIELDS = ["userId", "email", "role", "organizationId", "anonymousId", "environment"] as const;

/** A field of the context that is a whole path. */
export type ContextField = (typeof FIELDS)[number];

/** The first part of a path: a field of the context. */
export type Root = ContextField | "device" | "geo" | "attributes" | TrustedRoot;

export const TRUSTED_ROOTS: readonly TrustedRoot[] = ["user", "session", "organization", "trusted"];

/** Where a condition finds its attribute in the context. */
export interface Path {
  /** The field of the context that the path starts with. */
  readonly root: Root;
  /** The property names to follow from the root; empty for the root itself. */
  readonly steps: readonly string[];
}

const WHOLE_PATHS: ReadonlySet<string> = new Set(FIELDS);
const OBJECTS: ReadonlySet<string> = new Set<Root>(["device", "geo", "attributes", ...TRUSTED_ROOTS]);
const TRUSTED: ReadonlySet<string> = new Set(TRUSTED_ROOTS);

export function isTrustedRoot(root: string): root is TrustedRoot {
  return TRUSTED.has(root);
}

/** A path that does not start with a root reads `attributes.<path>`. So does a bare `device`, `geo` or `attributes`. */
export function parsePath(path: string): Path {
  if (WHOLE_PATHS.has(path)) return { root: path as Root, steps: [] };
  const steps = path.split(".");
  const [first = ""] = steps;
  if (steps.length > 1 && OBJECTS.has(first)) return { root: first as Root, steps: steps.slice(1) };
  return { root: "attributes", steps };
}

/** The value at the path, or `undefined` when it is missing. */
export function readPath(context: EvaluationContext, { root, steps }: Path): unknown {
  let value: unknown = context[root];
  for (const step of steps) value = readOwn(value, step);
  return value;
}

/** A path does not read properties of strings, arrays or class instances. */
function readOwn(value: unknown, name: string): unknown {
  return isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
