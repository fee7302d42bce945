/** The bodies the service accepts, and the errors it gives for the others. */
import * as z from "zod";
import type { FlagType } from "../engine/evaluate.ts";
import { isJsonValue, isPlainObject, type JsonValue, MAX_JSON_DEPTH } from "../engine/json.ts";
import { FeatureFlagError } from "./errors.ts";
import type { EvaluateFeatureFlagInput } from "./evaluation.ts";
import { FLAG_TYPES, fitsType, isFlagType, type JsonObject } from "./flag.ts";

export type CreateFeatureFlagInput = {
  /** 1–128 characters of `A-Z a-z 0-9 _ -`. */
  key: string;
  name: string;
  description?: string | undefined;
  type: FlagType;
  /** Defaults to `false`. */
  enabled?: boolean | undefined;
  /** Must fit `type`. Absent: `false`, `""`, `0` or `null`, by type. */
  defaultValue?: JsonValue | undefined;
  metadata?: JsonObject | undefined;
};

/**
 * The largest flag, as JSON text in UTF-8. MySQL's `text` columns hold 65,535 bytes, and the audit log keeps the whole
 * flag, with its id and dates, in one of them.
 */
export const MAX_FLAG_BYTES: number = 64_000;

/** Text that every database gives back as it was: PostgreSQL refuses NUL, and half a surrogate pair is not UTF-8. */
const text = z.string().regex(/^[^\0\p{Surrogate}]*$/u, "must be well-formed Unicode without NUL");
const NOT_JSON = `must be JSON, at most ${MAX_JSON_DEPTH} levels deep`;
const json = z.custom<JsonValue>((value) => isJsonValue(value), NOT_JSON);
const jsonObject = z.custom<JsonObject>(
  (value) => isPlainObject(value) && isJsonValue(value),
  `must be an object; it ${NOT_JSON}`,
);

const createBody = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, "must be 1–128 characters of A-Z, a-z, 0-9, _ and -"),
  name: text.min(1),
  description: text.optional(),
  // Only its absence is judged here: an unknown type has an error code of its own.
  type: z.custom<unknown>((value) => value !== undefined, `is required: ${FLAG_TYPES.join(", ")}`),
  enabled: z.boolean().optional(),
  defaultValue: json.optional(),
  metadata: jsonObject.optional(),
});

const evaluateBody: z.ZodType<EvaluateFeatureFlagInput> = z.object({
  flagKey: z.string(),
  default: json.optional(),
  context: z
    .object({ userId: z.string().optional(), email: z.string().optional(), role: z.string().optional() })
    .optional(),
  select: z
    .union([z.enum(["value", "full"]), z.array(z.enum(["value", "variant", "reason", "metadata"]))])
    .optional(),
  contextInResponse: z.boolean().optional(),
});

export function parseCreateInput(body: unknown): CreateFeatureFlagInput {
  const { type, ...input } = parse(createBody, body);
  if (!isFlagType(type)) {
    throw new FeatureFlagError("INVALID_FLAG_TYPE", `Unknown flag type. Use ${FLAG_TYPES.join(", ")}.`, {
      details: { field: "type" },
    });
  }
  if (input.defaultValue !== undefined && !fitsType(type, input.defaultValue)) {
    throw new FeatureFlagError(
      "INVALID_FLAG_TYPE",
      `defaultValue does not fit the flag's type: it must be a ${type}.`,
      { details: { field: "defaultValue", type } },
    );
  }
  const flag = { ...input, type };
  if (new TextEncoder().encode(JSON.stringify(flag)).length > MAX_FLAG_BYTES) {
    throw new FeatureFlagError(
      "VALIDATION_ERROR",
      `The flag is too large: as JSON it may have ${MAX_FLAG_BYTES} bytes. Keep large data elsewhere and store its address.`,
      { details: { limit: MAX_FLAG_BYTES } },
    );
  }
  return flag;
}

export function parseEvaluateInput(body: unknown): EvaluateFeatureFlagInput {
  return parse(evaluateBody, body);
}

function parse<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const reasons = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new FeatureFlagError("VALIDATION_ERROR", `The request is not valid. ${reasons.join("; ")}`, {
    details: { issues },
  });
}
