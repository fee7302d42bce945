/** OpenAPI documentation of operations; Better Auth's OpenAPI plugin reads it from the endpoints. */
import * as z from "zod";
import { type Field, type Fields, isInput } from "../../model/fields.ts";
import { inputOf } from "../../model/kinds.ts";

export type JsonSchema = {
  type?: "string" | "number" | "boolean" | "array" | "object" | "null";
  [key: string]: unknown;
};
type Properties = Readonly<Record<string, JsonSchema>>;
export type ObjectSchema = { type: "object"; properties: Properties; required?: string[] };

/** What an operation says about itself. */
export interface Documentation {
  /** One line. */
  readonly summary: string;
  readonly body?: z.ZodType;
  /** Names of the query's parameters. */
  readonly query?: readonly string[];
  /** The status of success. Defaults to 200. */
  readonly status?: 200 | 201 | 204;
  /** The body of a successful response. */
  readonly result?: () => ObjectSchema;
}

/** As Better Auth's OpenAPI plugin reads it. */
export type OpenApiOperation = {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: { name: string; in: "query"; schema: { type: "string" } }[];
  requestBody?: Required<Content>;
  responses: { [status: string]: { description: string } & Content };
};

type Content = { content?: { "application/json": { schema: ObjectSchema } } };

export const string: JsonSchema = { type: "string" };
export const number: JsonSchema = { type: "number" };
export const integer: JsonSchema = { type: "number", multipleOf: 1 };
export const boolean: JsonSchema = { type: "boolean" };
export const anyObject: JsonSchema = { type: "object" };
export const time: JsonSchema = { type: "string", format: "date-time" };
export const anyJson: JsonSchema = { description: "Any JSON value" };

export function listOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

export function oneOf(...values: readonly string[]): JsonSchema {
  return { type: "string", enum: values };
}

export function objectOf(properties: Properties, required?: string[]): ObjectSchema {
  return { type: "object", properties, ...(required && { required }) };
}

/** The JSON Schema of a request body. */
export function schemaOf(body: z.ZodType): ObjectSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(body, { io: "input", unrepresentable: "any" });
  return schema as ObjectSchema;
}

/** An entity as it is returned: the fields of the input that creates it, and those that the server adds. */
export function entityOf(fields: Fields): ObjectSchema {
  const added = Object.entries(fields).flatMap(([name, field]) => {
    const schema = isInput(field) ? undefined : ADDED[field.kind];
    return schema === undefined ? [] : [[name, schema] as const];
  });
  return objectOf({ ...schemaOf(inputOf(fields)).properties, ...Object.fromEntries(added) });
}

const ADDED: { readonly [Kind in Field["kind"]]?: JsonSchema } = {
  id: string,
  reference: string,
  version: integer,
  created: time,
  updated: time,
};

export function documentationOf(
  name: string,
  { summary, body, query, status = 200, result }: Documentation,
): OpenApiOperation {
  return {
    operationId: name,
    summary,
    tags: ["Feature flags"],
    ...(query && {
      parameters: query.map((parameter) => ({ name: parameter, in: "query", schema: { type: "string" } })),
    }),
    ...(body && { requestBody: { content: { "application/json": { schema: schemaOf(body) } } } }),
    responses: {
      [status]: {
        description: status === 204 ? "Done; no body" : "Success",
        ...(result && { content: { "application/json": { schema: result() } } }),
      },
    },
  };
}
