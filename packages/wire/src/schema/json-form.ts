/** Finds fields whose values have no JSON form, such as dates: they would arrive as something else, or not at all. */

/** A field without a JSON form. */
export interface NonJsonField {
  /** From the payload, such as `items[].soldAt`; empty for the schema itself. */
  readonly path: string;
  /** The type as its library calls it. */
  readonly type: string;
}

/** What both libraries call a type without a JSON form, and what to declare instead. */
const REMEDIES: Readonly<Record<string, string>> = {
  date: "Declare an ISO string (z.iso.datetime(), v.isoTimestamp()) and convert it; z.coerce.date() accepts one too",
  bigint: "Declare a string, and convert it with BigInt()",
  map: "Declare a record or an array of pairs",
  set: "Declare an array",
  instance: "Declare a plain object, or bytes() for a Uint8Array",
  file: "Upload it over HTTP, or send its content as bytes()",
  blob: "Upload it over HTTP, or send its content as bytes()",
  symbol: "Declare a string",
  nan: "Declare a number or null",
  function: "Remove the field",
  promise: "Declare the value it resolves to",
};

/** The text of an error about a field. */
export function describeNonJson(where: string, { path, type }: NonJsonField): string {
  const field = path === "" ? "a type" : `the field "${path}"`;
  return `${where} has ${field} of type ${type}, which has no JSON form. ${REMEDIES[type] ?? "Declare a plain value"}.`;
}

/** Looks at a schema of Zod or Valibot, or at an object of schemas. Schemas of other libraries have no known structure. */
export function findNonJson(
  schema: unknown,
  path = "",
  seen: Set<unknown> = new Set(),
): NonJsonField | undefined {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return undefined;
  seen.add(schema);
  const node = nodeOf(schema);
  if (node === undefined) return findIn(valuesOf(schema), path, seen);
  if (REMEDIES[node.type] !== undefined) return { path, type: node.type };
  const children = [
    ...valuesOf(node.fields),
    ...node.elements.map((element) => ["[]", element] as const),
    ...node.same.map((inner) => ["", inner] as const),
  ];
  return findIn(children, path, seen);
}

function findIn(
  children: readonly (readonly [key: string, schema: unknown])[],
  path: string,
  seen: Set<unknown>,
): NonJsonField | undefined {
  for (const [key, child] of children) {
    const dot = path === "" || key === "" || key === "[]" ? "" : ".";
    const found = findNonJson(child, `${path}${dot}${key}`, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Getters are left out: recursive shapes use them for schemas that do not exist yet. */
function valuesOf(fields: unknown): [string, unknown][] {
  if (typeof fields !== "object" || fields === null) return [];
  return Object.entries(Object.getOwnPropertyDescriptors(fields)).flatMap(([key, { value }]) =>
    value === undefined ? [] : [[key, value] as [string, unknown]],
  );
}

interface Node {
  readonly type: string;
  /** The fields of an object. */
  readonly fields: unknown;
  /** Schemas of the values in an array or record. */
  readonly elements: readonly unknown[];
  /** Schemas of the same value. */
  readonly same: readonly unknown[];
}

function nodeOf(schema: object): Node | undefined {
  if ("_zod" in schema) return zodNode(schema as ZodLike);
  return "kind" in schema && schema.kind === "schema"
    ? valibotNode(schema as unknown as ValibotLike)
    : undefined;
}

type Parts = Readonly<Record<string, unknown>>;

interface ZodLike {
  readonly _zod: {
    readonly def: Parts & { readonly type: string };
    readonly bag: { readonly Class?: unknown };
  };
}

function zodNode({ _zod: { def, bag } }: ZodLike): Node {
  const isInstance = def.type === "custom" && bag.Class !== undefined;
  return {
    // A coercing type accepts what arrives.
    type: def["coerce"] ? "coerced" : isInstance ? "instance" : def.type,
    fields: shapeOf(def),
    elements: [def["element"], def["valueType"], def["rest"], def["catchall"], ...listOf(def["items"])],
    // Of a pipe, only the input is sent.
    same: [def["innerType"], def["in"], def["left"], def["right"], ...listOf(def["options"])],
  };
}

/** Some versions of Zod evaluate the getters of a shape when it is read. */
function shapeOf(def: Parts): unknown {
  try {
    return def["shape"];
  } catch {
    return undefined;
  }
}

type ValibotLike = Parts & { readonly type: string };

function valibotNode(schema: ValibotLike): Node {
  const { type, entries, item, value, rest, items, wrapped, options } = schema;
  return {
    type,
    fields: entries,
    elements: [item, value, rest, ...listOf(items)],
    same: [wrapped, ...listOf(options)],
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
