/** Parses the records of a set of definitions. They come from the network or from a file, so every field is checked. */
import * as z from "zod";
import type { BucketBy, FlagDefinition, RuleConditions } from "../../engine/definition.ts";
import { isJsonValue, isPlainObject, type JsonObject, type JsonValue } from "../../engine/json.ts";
import type { LayerNumber } from "../definitions/records.ts";

const name = z.string().max(255);
const json = z.custom<JsonValue>((value) => isJsonValue(value), "must be JSON");
const jsonObject = z.custom<JsonObject>(
  (value) => isPlainObject(value) && isJsonValue(value),
  "must be an object",
);
/** The engine checks the contents when it compiles them. */
const conditions = z.custom<RuleConditions>(
  (value) => isPlainObject(value) && isJsonValue(value),
  "must be a group of conditions",
);
const percentage = z.number().min(0).max(100);
const layer = z.union([z.literal(0), z.literal(1)]);

const settings = z.object({
  enabled: z.boolean().optional(),
  rolloutPercentage: percentage.optional(),
  defaultValue: json.optional(),
  offValue: json.optional(),
});
/** Not a record of Zod, which leaves out the name `__proto__`. */
const environments = z.custom<NonNullable<FlagDefinition["environments"]>>(
  (value) => isPlainObject(value) && Object.values(value).every((one) => settings.safeParse(one).success),
  "must be settings by environment",
);
const BUCKET_BY = /^(?:userId|organizationId|anonymousId|attributes\..+)$/s;

/** Fields of a newer server are left out. */
const definition = z.object({
  key: name,
  type: z.enum(["boolean", "string", "number", "json"]),
  enabled: z.boolean(),
  defaultValue: json.optional(),
  offValue: json.optional(),
  rolloutPercentage: percentage.optional(),
  variants: z
    .array(z.object({ key: z.string(), weight: z.number(), value: json, metadata: jsonObject.optional() }))
    .optional(),
  environments: environments.optional(),
  salt: z.string().optional(),
  bucketBy: z
    .custom<BucketBy>(
      (value) => typeof value === "string" && BUCKET_BY.test(value),
      "must be a source of ids",
    )
    .optional(),
  rules: z.array(
    z.object({
      id: z.string(),
      enabled: z.boolean(),
      conditions,
      value: json.optional(),
      variant: z.string().optional(),
      percentage: percentage.optional(),
      salt: z.string(),
    }),
  ),
  // Absent fields stay absent, which the type of the engine requires and the type of Zod cannot say.
}) as unknown as z.ZodType<FlagDefinition>;

/** A parsed record: see `records.ts`. */
export type DefinitionRecord =
  | readonly ["f", key: string, layer: LayerNumber, id: string, definition: FlagDefinition]
  | readonly ["f", key: string]
  | readonly ["s", layer: LayerNumber, key: string, conditions: RuleConditions]
  | readonly ["s", layer: LayerNumber, key: string]
  | readonly [
      "o",
      key: string,
      userId: string,
      value: JsonValue,
      variant: string | null,
      expiresAtMs: number | null,
    ]
  | readonly ["o", key: string, userId: string];

const record: z.ZodType<DefinitionRecord> = z.union([
  z.tuple([z.literal("f"), name, layer, z.string(), definition]),
  z.tuple([z.literal("f"), name]),
  z.tuple([z.literal("s"), layer, name, conditions]),
  z.tuple([z.literal("s"), layer, name]),
  z.tuple([z.literal("o"), name, z.string(), json, z.string().nullable(), z.number().nullable()]),
  z.tuple([z.literal("o"), name, z.string()]),
]);

/** Throws when the text is not a record. The error does not contain the text, which may be large. */
export function parseRecord(text: string): DefinitionRecord {
  const parsed = record.safeParse(freeze(JSON.parse(text)));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TypeError(`A definition is not valid: ${issue?.path.join(".")} ${issue?.message}`);
}

/** Evaluations return these values, and must not let a caller change them. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const item of Object.values(value)) freeze(item);
  return Object.freeze(value);
}
