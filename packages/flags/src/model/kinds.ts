/** How the values of each kind of field are stored and checked, and what follows for a table of fields. */
import type { DBFieldAttribute } from "@better-auth/core/db";
import * as z from "zod";
import { weightsAddUp } from "../engine/bucket.ts";
import type { BucketBy, Variant } from "../engine/definition.ts";
import { isPlainObject } from "../engine/json.ts";
import {
  type EntityColumns,
  type EntityInput,
  type EntityPatch,
  type Field,
  type Fields,
  type FieldValues,
  type FlagVisibility,
  isChangeable,
  isInput,
} from "./fields.ts";
import { FLAG_TYPES } from "./flag.ts";
import {
  conditions,
  isoTime,
  isWellFormed,
  json,
  jsonObject,
  key,
  line,
  name,
  percentage,
  text,
  wholePercentage,
} from "./inputs.ts";
import * as columns from "./table-fields.ts";

interface Kind {
  readonly column: DBFieldAttribute;
  /** `json` as JSON text, `time` as ISO 8601 text. Default: unchanged. */
  readonly stored?: "json" | "time";
  /** Absent: no caller sets such a value. */
  readonly input?: z.ZodType;
  /** The value in a change. Default: as in the input of a new entity. */
  readonly change?: z.ZodType;
}

const variant: z.ZodType = z.strictObject({
  key: name,
  weight: percentage,
  value: json,
  metadata: jsonObject.optional(),
});

const variants: z.ZodType = z.array(variant as z.ZodType<Variant>).superRefine((list, check) => {
  const total = list.reduce((sum, { weight }) => sum + weight, 0);
  if (!weightsAddUp(total)) check.addIssue(`weights must sum to 100; they sum to ${total}`);
  if (new Set(list.map((one) => one.key)).size < list.length)
    check.addIssue("each variant must have a different key");
});

const settings = z.strictObject({
  enabled: z.boolean().optional(),
  rolloutPercentage: wholePercentage.optional(),
  defaultValue: json.optional(),
  offValue: json.optional(),
});

const settingsPatch = z.strictObject({
  enabled: z.boolean().nullish(),
  rolloutPercentage: wholePercentage.nullish(),
  defaultValue: json.optional(),
  offValue: json.optional(),
});

/** Not `z.record`, because `__proto__` is a valid environment name. */
function byEnvironment(schema: z.ZodType): z.ZodType {
  return z
    .custom<Record<string, unknown>>(isPlainObject, "must be an object of settings by environment")
    .transform((given, check) => {
      const entries: [string, unknown][] = [];
      for (const [environment, value] of Object.entries(given)) {
        const named = name.safeParse(environment);
        const result = schema.safeParse(value);
        if (result.success && named.success) entries.push([environment, result.data]);
        for (const issue of [...(named.error?.issues ?? []), ...(result.error?.issues ?? [])]) {
          check.addIssue({ code: "custom", message: issue.message, path: [environment, ...issue.path] });
        }
      }
      return Object.fromEntries(entries);
    })
    .meta({ type: "object" });
}

const MAX_NAMES = 20;

const names: z.ZodType = z
  .array(name)
  .min(1, "must have at least one name; use null or leave the field out for all")
  .max(MAX_NAMES)
  .refine((list) => new Set(list).size === list.length, "must have each name once")
  .meta({ uniqueItems: true });

const bucketBy: z.ZodType = z
  .custom<BucketBy>(
    (value) =>
      typeof value === "string" &&
      (["userId", "organizationId", "anonymousId"].includes(value) ||
        (/^attributes\..{1,200}$/s.test(value) && isWellFormed(value))),
    "must be userId, organizationId, anonymousId or attributes.<path>",
  )
  .meta({ type: "string" });

// The schema checks only that it is present, because an unknown type has its own error code.
const type: z.ZodType = z
  .custom<unknown>((value) => value !== undefined, `is required; use one of ${FLAG_TYPES.join(", ")}`)
  .meta({ type: "string", enum: [...FLAG_TYPES] });

/** Leaves room in an integer column for the positions after it. */
const MAX_POSITION = 1_000_000_000;

const KINDS: { readonly [Name in keyof FieldValues]: Kind } = {
  id: { column: columns.uniqueLine },
  reference: { column: columns.line, input: name },
  key: { column: columns.line, input: key },
  name: { column: columns.text, input: name },
  names: { column: columns.text, stored: "json", input: names },
  text: { column: columns.text, input: text },
  line: { column: columns.line, input: line },
  boolean: { column: columns.boolean, input: z.boolean() },
  number: { column: columns.line, stored: "json", input: z.number() },
  percentage: { column: columns.line, stored: "json", input: percentage },
  wholePercentage: { column: columns.integer, input: wholePercentage },
  json: { column: columns.text, stored: "json", input: json },
  object: { column: columns.text, stored: "json", input: jsonObject },
  type: { column: columns.line, input: type },
  variants: { column: columns.text, stored: "json", input: variants },
  environments: {
    column: columns.text,
    stored: "json",
    input: byEnvironment(settings),
    change: byEnvironment(settingsPatch.nullable()),
  },
  bucketBy: { column: columns.text, input: bucketBy },
  visibility: { column: columns.line, input: z.enum<FlagVisibility[]>(["public", "server"]) },
  conditions: { column: columns.text, stored: "json", input: conditions },
  salt: { column: columns.line, input: name },
  position: { column: columns.integer, input: z.number().min(0).max(MAX_POSITION).multipleOf(1) },
  expiry: { column: columns.line, stored: "time", input: isoTime },
  algo: { column: columns.integer },
  version: { column: columns.integer },
  created: { column: columns.date },
  updated: { column: columns.date },
};

export function storedAs({ kind }: Field): Kind["stored"] {
  return KINDS[kind].stored;
}

/** Creates new objects for each call, because Better Auth writes the application's own names into them. */
export function columnsOf<F extends Fields>(
  fields: F,
): Record<keyof EntityColumns<F> | "tenant", DBFieldAttribute> {
  const made = Object.entries(fields).map(([field, { kind, column = field, optional = false }]) => [
    column,
    { ...KINDS[kind].column, required: !optional },
  ]);
  return Object.fromEntries([...made.slice(0, 1), ["tenant", { ...columns.line }], ...made.slice(1)]);
}

/** The schema of the input that creates an entity. */
export function inputOf<F extends Fields>(fields: F): z.ZodType<EntityInput<F>> {
  const isGiven = ({ optional, default: initial, derived }: Field): boolean =>
    optional !== true && initial === undefined && derived !== true;
  return schemaOf(fields, isInput, (field, input) => (isGiven(field) ? input : input.optional()));
}

/** The schema of the input that changes an entity. `null` is already one of the values of the kind `json`. */
export function patchOf<F extends Fields>(fields: F): z.ZodType<EntityPatch<F>> {
  const adapt = ({ kind, optional, kept }: Field, input: z.ZodType): z.ZodType =>
    optional && !kept && kind !== "json" ? input.nullish() : input.optional();
  return schemaOf(fields, isChangeable, adapt, ({ input, change = input }) => change);
}

function schemaOf<Input>(
  fields: Fields,
  has: (field: Field) => boolean,
  adapt: (field: Field, input: z.ZodType) => z.ZodType,
  inputIn: (kind: Kind) => z.ZodType | undefined = ({ input }) => input,
): z.ZodType<Input> {
  const shape = Object.entries(fields).flatMap(([field, declared]) => {
    const input = inputIn(KINDS[declared.kind]);
    return input !== undefined && has(declared) ? [[field, adapt(declared, input)] as const] : [];
  });
  // The types of inputs follow from the same table.
  return z.strictObject(Object.fromEntries(shape)) as unknown as z.ZodType<Input>;
}
