/** Schemas of validation libraries as JSON Schema, draft 7, which AsyncAPI uses. */
import type { StandardSchema } from "@halyard/wire";
import type { JsonSchemaOptions } from "@halyard/wire/unstable-devtools";

/** A JSON Schema, draft 7. */
export type JsonSchema = Record<string, unknown>;

/** Describes what a sender passes, which is what a frame carries. `where` names the schema in errors. */
export type Convert = (schema: StandardSchema, where: string) => JsonSchema;

/** Accepts every value: for types that JSON Schema cannot express, such as those of `z.custom()`. */
const OPTIONS: JsonSchemaOptions = {
  target: "draft-07",
  libraryOptions: { unrepresentable: "any", override: describeZodDate },
};

interface ZodNode {
  readonly zodSchema: { readonly _zod: { readonly def: { readonly type: string } } };
  readonly jsonSchema: JsonSchema;
}

/** `z.coerce.date()` accepts the text that JSON has for a date. */
function describeZodDate({ zodSchema, jsonSchema }: ZodNode): void {
  if (zodSchema._zod.def.type === "date") Object.assign(jsonSchema, DATE);
}

const DATE = { type: "string", format: "date-time" };

/** The part of `@valibot/to-json-schema` that is used here. */
interface ValibotConverter {
  toJsonSchema(schema: unknown, config: object): JsonSchema;
}

/** Loads `@valibot/to-json-schema` only if one of the schemas is of Valibot. */
export async function loadConverter(schemas: readonly StandardSchema[]): Promise<Convert> {
  const valibot = schemas.some(needsValibotConverter) ? await loadValibot() : undefined;
  return (schema, where) => {
    if (valibot !== undefined && needsValibotConverter(schema)) return convertValibot(valibot, schema);
    const { jsonSchema, vendor } = schema["~standard"];
    if (jsonSchema === undefined) throw new TypeError(`${where} ${remedyFor(vendor)}`);
    return jsonSchema.input(OPTIONS);
  };
}

function needsValibotConverter(schema: StandardSchema): boolean {
  const { vendor, jsonSchema } = schema["~standard"];
  return vendor === "valibot" && jsonSchema === undefined;
}

async function loadValibot(): Promise<ValibotConverter> {
  try {
    return (await import("@valibot/to-json-schema")) as unknown as ValibotConverter;
  } catch (cause) {
    throw new TypeError(
      "AsyncAPI needs the package @valibot/to-json-schema to describe schemas of Valibot. Run `npm install --save-dev @valibot/to-json-schema`.",
      { cause },
    );
  }
}

function convertValibot({ toJsonSchema }: ValibotConverter, schema: StandardSchema): JsonSchema {
  // The schemas of wire keep only the entries of a strict object.
  const original = "type" in schema ? schema : { kind: "schema", type: "strict_object", ...schema };
  return toJsonSchema(original, {
    target: "draft-07",
    typeMode: "input",
    errorMode: "ignore",
    overrideAction: ({ valibotAction, jsonSchema }: ValibotNode) =>
      valibotAction.metadata?.["contentEncoding"] === undefined
        ? undefined
        : { ...jsonSchema, ...valibotAction.metadata },
  });
}

interface ValibotNode {
  readonly valibotAction: { readonly metadata?: JsonSchema };
  readonly jsonSchema: JsonSchema;
}

function remedyFor(vendor: string): string {
  if (vendor === "zod") return "is of a Zod that cannot describe its schemas. Run `npm install zod@^4.2`.";
  return `is of the library "${vendor}", which does not implement Standard JSON Schema. Declare the message with @halyard/wire/zod or @halyard/wire/valibot.`;
}
