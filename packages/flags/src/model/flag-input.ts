/** Request bodies that create and update a flag. */
import * as z from "zod";
import { weightsAddUp } from "../engine/bucket.ts";
import type { BucketBy, EnvironmentSettings, FlagType, Variant } from "../engine/definition.ts";
import { isPlainObject } from "../engine/json.ts";
import { FeatureFlagError } from "./errors.ts";
import { type FeatureFlagPatch, FLAG_TYPES, type FlagDraft, isFlagType } from "./flag.ts";
import {
  isWellFormed,
  json,
  jsonBytes,
  jsonObject,
  key,
  line,
  name,
  overLimit,
  parse,
  percentage,
  text,
  wholePercentage,
} from "./inputs.ts";

/** The input of the server method that updates a flag. */
export type UpdateFeatureFlagInput = FeatureFlagPatch & {
  /** The id of the flag, or `key:<key>`. */
  id: string;
  /** The update fails with 409 when the flag has another version. */
  version?: number | undefined;
};

/**
 * The largest flag, as JSON text in UTF-8. MySQL's `text` columns hold 65,535 bytes, and the audit log keeps the whole
 * flag, with its id and dates, in one of them.
 */
const MAX_FLAG_BYTES = 64_000;

const variant: z.ZodType<Variant> = z.strictObject({
  key: name,
  weight: percentage,
  value: json,
  metadata: jsonObject.optional(),
}) as z.ZodType<Variant>;

const variants: z.ZodType<readonly Variant[]> = z.array(variant).superRefine((list, check) => {
  const total = list.reduce((sum, { weight }) => sum + weight, 0);
  if (!weightsAddUp(total)) check.addIssue(`weights must sum to 100; they sum to ${total}`);
  if (new Set(list.map((one) => one.key)).size < list.length)
    check.addIssue("each variant must have a different key");
});

const settings: z.ZodType<EnvironmentSettings> = z.strictObject({
  enabled: z.boolean().optional(),
  rolloutPercentage: wholePercentage.optional(),
  defaultValue: json.optional(),
  offValue: json.optional(),
}) as z.ZodType<EnvironmentSettings>;

/** Not `z.record`, because `__proto__` is a valid environment name. */
const environments: z.ZodType<Readonly<Record<string, EnvironmentSettings>>> = z
  .custom<Record<string, unknown>>(isPlainObject, "must be an object of settings by environment")
  .transform((given, check) => {
    const entries: [string, EnvironmentSettings][] = [];
    for (const [environment, value] of Object.entries(given)) {
      const named = name.safeParse(environment);
      const result = settings.safeParse(value);
      if (result.success && named.success) entries.push([environment, result.data]);
      for (const issue of [...(named.error?.issues ?? []), ...(result.error?.issues ?? [])]) {
        check.addIssue({ code: "custom", message: issue.message, path: [environment, ...issue.path] });
      }
    }
    return Object.fromEntries(entries);
  })
  .meta({ type: "object" }) as unknown as z.ZodType<Readonly<Record<string, EnvironmentSettings>>>;

const bucketBy: z.ZodType<BucketBy> = z
  .custom<BucketBy>(
    (value) =>
      typeof value === "string" &&
      (["userId", "organizationId", "anonymousId"].includes(value) ||
        (/^attributes\..{1,200}$/s.test(value) && isWellFormed(value))),
    "must be userId, organizationId, anonymousId or attributes.<path>",
  )
  .meta({ type: "string" });

const visibility = z.enum(["public", "server"]);
// The schema checks only that it is present, because an unknown type has its own error code.
const type = z
  .custom<unknown>((value) => value !== undefined, `is required; use one of ${FLAG_TYPES.join(", ")}`)
  .meta({ type: "string", enum: [...FLAG_TYPES] });

const createFields = z.strictObject({
  key,
  name,
  description: text.optional(),
  type,
  enabled: z.boolean().optional(),
  defaultValue: json.optional(),
  offValue: json.optional(),
  rolloutPercentage: wholePercentage.optional(),
  organizationId: line.optional(),
  variants: variants.optional(),
  environments: environments.optional(),
  salt: name.optional(),
  bucketBy: bucketBy.optional(),
  visibility: visibility.optional(),
  tenantOverridable: z.boolean().optional(),
  metadata: jsonObject.optional(),
});

const patchFields = z.strictObject({
  key: key.optional(),
  name: name.optional(),
  description: text.nullish(),
  type: z
    .unknown()
    .optional()
    .meta({ type: "string", enum: [...FLAG_TYPES] }),
  enabled: z.boolean().optional(),
  defaultValue: json.optional(),
  offValue: json.optional(),
  rolloutPercentage: wholePercentage.nullish(),
  variants: variants.nullish(),
  environments: environments.nullish(),
  salt: name.nullish(),
  bucketBy: bucketBy.nullish(),
  visibility: visibility.optional(),
  tenantOverridable: z.boolean().optional(),
  metadata: jsonObject.nullish(),
});

export const createFlagBody: z.ZodType = createFields;
export const flagPatchBody: z.ZodType = patchFields;

/** Does not check that the values fit the type: the store checks it on every write. */
export function parseCreateInput(body: unknown): FlagDraft {
  const { type: given, ...input } = parse(createFields, body);
  return withinSize({ ...input, type: knownType(given) });
}

export function parseFlagPatch(body: unknown): FeatureFlagPatch {
  const { type: given, ...input } = parse(patchFields, body);
  return withinSize({ ...input, ...(given !== undefined && { type: knownType(given) }) });
}

function knownType(given: unknown): FlagType {
  if (isFlagType(given)) return given;
  throw new FeatureFlagError(
    "INVALID_FLAG_TYPE",
    `The flag type is unknown. Use one of ${FLAG_TYPES.join(", ")}.`,
    {
      details: { field: "type" },
    },
  );
}

function withinSize<Input>(input: Input): Input {
  if (jsonBytes(input) <= MAX_FLAG_BYTES) return input;
  throw overLimit(
    "The flag has too many bytes as JSON.",
    MAX_FLAG_BYTES,
    "Store large data elsewhere and put its URL into the flag.",
  );
}
