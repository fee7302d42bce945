/** The bodies that ask for evaluations. Unknown keys are ignored, so that a newer client can talk to an older server. */
import * as z from "zod";
import { isJsonValue, isPlainObject, type JsonObject } from "../engine/json.ts";
import type {
  BootstrapFeatureFlagsInput,
  ClaimedContext,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
  ExplainFeatureFlagInput,
} from "./evaluation.ts";
import { json, jsonBytes, jsonObject, line, MAX_LINE, overLimit, parse } from "./inputs.ts";

const MAX_CONTEXT_BYTES = 16 * 1024;
/** Levels of nesting, the context itself being the first. */
const MAX_CONTEXT_DEPTH = 8;
const MAX_BATCH_FLAGS = 100;

const optionalText = z.string().optional();

/** Only that it is an object: how deep it may be is a limit, not a matter of form. */
const attributes = z.custom<JsonObject>(isPlainObject, "must be an object");

export const claimedContext: z.ZodType<ClaimedContext> = z.object({
  userId: optionalText,
  email: optionalText,
  role: optionalText,
  // It selects whose flags are read, so it is what a column can hold.
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
  debug: z.boolean().optional(),
};

const single: z.ZodType<EvaluateFeatureFlagInput> = z.object({
  ...common,
  flagKey: z.string(),
  default: json.optional(),
  contextInResponse: z.boolean().optional(),
});

const batch: z.ZodType<EvaluateFeatureFlagsInput> = z.object({
  ...common,
  flagKeys: z.array(z.string()),
  defaults: jsonObject.optional(),
  contextInResponse: z.boolean().optional(),
});

const bootstrap: z.ZodType<BootstrapFeatureFlagsInput> = z.object({
  ...common,
  include: z.array(z.string()).optional(),
  prefix: z.string().optional(),
  includeDisabled: z.boolean().optional(),
});

const explain: z.ZodType<ExplainFeatureFlagInput> = z.strictObject({
  context: claimedContext.optional(),
  environment: common.environment,
});

export function parseEvaluateInput(body: unknown): EvaluateFeatureFlagInput {
  return withinContext(parse(single, body));
}

export function parseBatchInput(body: unknown): EvaluateFeatureFlagsInput {
  if (isPlainObject(body) && Array.isArray(body["flagKeys"]) && body["flagKeys"].length > MAX_BATCH_FLAGS) {
    throw overLimit(
      "flagKeys names too many flags.",
      MAX_BATCH_FLAGS,
      "Ask for the rest in another call, or for all of them with bootstrap.",
    );
  }
  return withinContext(parse(batch, body));
}

/** Every field is optional, and so is the body. */
export function parseBootstrapInput(body: unknown = {}): BootstrapFeatureFlagsInput {
  return withinContext(parse(bootstrap, body));
}

export function parseExplainInput(body: unknown = {}): ExplainFeatureFlagInput {
  return withinContext(parse(explain, body));
}

/** Refuses a context that is too large or too deep. */
export function withinContext<Input extends { context?: ClaimedContext | undefined }>(input: Input): Input {
  if (input.context === undefined) return input;
  if (jsonBytes(input.context) > MAX_CONTEXT_BYTES) {
    throw overLimit(
      "The context is too large as JSON, in bytes.",
      MAX_CONTEXT_BYTES,
      "Send only what rules use.",
    );
  }
  const given = input.context.attributes;
  if (given === undefined || isJsonValue(given, MAX_CONTEXT_DEPTH - 1)) return input;
  // Depth, or something that is no JSON at all, which only server code can pass.
  parse(z.object({ context: z.object({ attributes: jsonObject }) }), input);
  throw overLimit("The context is nested too deep, in levels.", MAX_CONTEXT_DEPTH, "Flatten its attributes.");
}
