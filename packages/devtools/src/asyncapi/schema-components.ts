/** The schemas of one document. Recursive parts become components, because a reference begins at the root of the document. */
import type { JsonSchema } from "./json-schema.ts";

const DEFINITIONS = ["definitions", "$defs"] as const;

export class SchemaComponents {
  /** By their key in `components.schemas`. */
  readonly schemas: Record<string, JsonSchema> = {};

  /** Returns the schema for its place in the document. `name` is free for its components. */
  place(schema: JsonSchema, name: string): JsonSchema {
    const { $schema: _, ...rest } = schema;
    const keys = new Map<string, string>();
    for (const group of DEFINITIONS)
      for (const key of Object.keys((rest[group] ?? {}) as object))
        keys.set(`#/${group}/${escapeKey(key)}`, `${name}.${toKey(key)}`);
    if (usesRoot(rest)) keys.set("#", name);
    const move = (value: unknown): unknown => moveReferences(value, keys);
    for (const group of DEFINITIONS) {
      const definitions = (rest[group] ?? {}) as Record<string, JsonSchema>;
      for (const [key, definition] of Object.entries(definitions))
        this.schemas[`${name}.${toKey(key)}`] = move(definition) as JsonSchema;
      delete rest[group];
    }
    const placed = move(rest) as JsonSchema;
    if (!keys.has("#")) return placed;
    this.schemas[name] = placed;
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** The characters that AsyncAPI allows in the keys of components. */
export function toKey(name: string): string {
  return name.replaceAll(/[^\w.-]/g, "_");
}

function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function usesRoot(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, child]) => (key === "$ref" && child === "#") || usesRoot(child));
}

function moveReferences(value: unknown, keys: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => moveReferences(item, keys));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => {
      const target = key === "$ref" && typeof child === "string" ? keys.get(child) : undefined;
      return [key, target === undefined ? moveReferences(child, keys) : `#/components/schemas/${target}`];
    }),
  );
}
