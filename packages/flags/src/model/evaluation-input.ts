/** Request bodies of evaluations. Unknown keys are ignored, so that a newer client works with an older server. */
import * as z from "zod";
import { isJsonValue, isPlainObject, type JsonObject } from "../engine/json.ts";
import { TRUSTED_ROOTS } from "../engine/path.ts";
import type {
  BootstrapFeatureFlagsInput,
  ClaimedContext,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
  ExplainFeatureFlagInput,
} from "./evaluation.ts";
import { exceedsJsonBytes, json, jsonObject, line, MAX_LINE, overLimit, parse } from "./inputs.ts";

const MAX_CONTEXT_BYTES = 16 * 1024;
/** Levels of nesting, counting the context itself as the first. */
const MAX_CONTEXT_DEPTH = 8;
const MAX_BATCH_FLAGS = 100;
/** The fields of a context in which the caller chooses the names. */
const FREE_FIELDS = ["attributes", ...TRUSTED_ROOTS] as const;

const optionalText = z.string().optional();

/** Checks only that it is an object. `withinContext` checks its depth, because exceeding a limit is a different error. */
const attributes = z.custom<JsonObject>(isPlainObject, "must be an object").meta({ type: "object" });

export const claimedContext: z.ZodType<ClaimedContext> = z.object({
  userId: optionalText,
  email: optionalText,
  role: optionalText,
  // It selects the tenant whose flags are read, so it must fit a database column.
  organizationId: line.optional(),
  anonymousId: optionalText,
  attributes: attributes.optional(),
  device: z
    .object({
      type: z.enum(["desktop", "mobile", "tablet", "bot", "unknown"]).optional(),
      os: optionalText,
      browser: optionalText,
      model: optionalText,
    })
    .optional(),
  geo: z
    .object({ country: optionalText, region: optionalText, city: optionalText, timezone: optionalText })
    .optional(),
  user: attributes.optional(),
  session: attributes.optional(),
  organization: attributes.optional(),
  trusted: attributes.optional(),
}) as z.ZodType<ClaimedContext>;

const select = z.union([
  z.enum(["value", "full"]),
  z.array(z.enum(["value", "variant", "reason", "metadata"])).max(4),
]);

const common = {
  context: claimedContext.optional(),
  select: select.optional(),
  environment: z.string().max(MAX_LINE).optional(),
  track: z.boolean().optional(),
  exposures: z.boolean().optional(),
  debug: z.boolean().optional(),
};

export const evaluateBody: z.ZodType<EvaluateFeatureFlagInput> = z.object({
  ...common,
  flagKey: z.string(),
  default: json.optional(),
  contextInResponse: z.boolean().optional(),
});

export const batchBody: z.ZodType<EvaluateFeatureFlagsInput> = z.object({
  ...common,
  flagKeys: z.array(z.string()),
  defaults: jsonObject.optional(),
  contextInResponse: z.boolean().optional(),
});

export const bootstrapBody: z.ZodType<BootstrapFeatureFlagsInput> = z.object({
  ...common,
  include: z.array(z.string()).optional(),
  prefix: z.string().optional(),
  includeDisabled: z.boolean().optional(),
  // An invalid position is ignored, because a page or a proxy may have supplied it.
  position: z.string().optional(),
});

export const explainBody: z.ZodType<ExplainFeatureFlagInput> = z.strictObject({
  context: claimedContext.optional(),
  environment: common.environment,
});

export function parseEvaluateInput(body: unknown): EvaluateFeatureFlagInput {
  return withinContext(parse(evaluateBody, body));
}

export function parseBatchInput(body: unknown): EvaluateFeatureFlagsInput {
  if (isPlainObject(body) && Array.isArray(body["flagKeys"]) && body["flagKeys"].length > MAX_BATCH_FLAGS) {
    throw overLimit(
      "flagKeys has too many keys.",
      MAX_BATCH_FLAGS,
      "Request the rest in another call, or request all flags with bootstrap.",
    );
  }
  return withinContext(parse(batchBody, body));
}

/** Every field is optional, and so is the whole body. */
export function parseBootstrapInput(body: unknown = {}): BootstrapFeatureFlagsInput {
  return withinContext(parse(bootstrapBody, body));
}

export function parseExplainInput(body: unknown = {}): ExplainFeatureFlagInput {
  return withinContext(parse(explainBody, body));
}

/** Throws when the context is too large or nested too deeply. */
export function withinContext<Input extends { context?: ClaimedContext | undefined }>(input: Input): Input {
  if (input.context === undefined) return input;
  if (exceedsJsonBytes(input.context, MAX_CONTEXT_BYTES)) {
    throw overLimit(
      "The context has too many bytes as JSON.",
      MAX_CONTEXT_BYTES,
      "Send only the attributes that rules use.",
    );
  }
  const { context } = input;
  const wrong = FREE_FIELDS.find((field) => {
    const sent = context[field];
    return sent !== undefined && !isJsonValue(sent, MAX_CONTEXT_DEPTH - 1);
  });
  if (wrong === undefined) return input;
  // Either too deep, or not JSON at all, which only server code can pass.
  parse(z.object({ context: z.object({ [wrong]: jsonObject }) }), input);
  throw overLimit(
    "The context has too many levels of nesting.",
    MAX_CONTEXT_DEPTH,
    "Flatten its attributes.",
  );
}
