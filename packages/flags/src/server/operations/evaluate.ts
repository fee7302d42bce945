/** Evaluation of one flag, of several, and of all: `/feature-flags/evaluate`, `evaluate-batch` and `bootstrap`. */
import type {
  AnyBatchResult,
  AnyBootstrapResult,
  AnyEvaluationResult,
  BootstrapFeatureFlagsInput,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
} from "../../model/evaluation.ts";
import {
  batchBody,
  bootstrapBody,
  claimedContext,
  evaluateBody,
  parseBatchInput,
  parseBootstrapInput,
  parseEvaluateInput,
} from "../../model/evaluation-input.ts";
import { batchResult, bootstrapResult, singleResult } from "../evaluation/results.ts";
import { openScope } from "../evaluation/scope.ts";
import { MAX_BATCH_BODY_BYTES, readBody } from "../http/body-limit.ts";
import { EntityTag, matchesTag } from "../http/entity-tag.ts";
import { anyObject, objectOf, schemaOf, time } from "../http/openapi.ts";
import type { Post, PublicOperation } from "./definition.ts";
import { EVALUATION_FIELDS } from "./schemas.ts";

/** Evaluates a flag. For a flag that does not exist it returns the caller's `default` and reason `not_found`. */
export const evaluateFeatureFlag: PublicOperation<
  Post<"/feature-flags/evaluate", EvaluateFeatureFlagInput, AnyEvaluationResult> & {
    readonly selects: "one";
  }
> = {
  summary: "Evaluate a flag",
  method: "POST",
  path: "/feature-flags/evaluate",
  scope: "server",
  action: "public",
  rateLimit: "evaluate",
  failure: "EVALUATION_ERROR",
  body: evaluateBody,
  result: () =>
    objectOf(
      {
        ...EVALUATION_FIELDS,
        evaluatedAt: time,
        context: schemaOf(claimedContext),
        exposures: anyObject,
      },
      ["evaluatedAt"],
    ),
  async run(call) {
    const input = parseEvaluateInput(readBody(call));
    return singleResult(await openScope(call, input), input);
  },
};

/** Evaluates up to 100 flags. */
export const evaluateFeatureFlags: PublicOperation<
  Post<"/feature-flags/evaluate-batch", EvaluateFeatureFlagsInput, AnyBatchResult> & {
    readonly selects: "several";
  }
> = {
  summary: "Evaluate several flags",
  method: "POST",
  path: "/feature-flags/evaluate-batch",
  scope: "server",
  action: "public",
  rateLimit: "evaluate-batch",
  failure: "EVALUATION_ERROR",
  maxBodyBytes: MAX_BATCH_BODY_BYTES,
  body: batchBody,
  result: () => evaluationsSchema(["flags", "evaluatedAt"]),
  async run(call) {
    const input = parseBatchInput(readBody(call));
    return batchResult(await openScope(call, input), input);
  },
};

/** Evaluates all enabled flags. */
export const bootstrapFeatureFlags: PublicOperation<
  Post<"/feature-flags/bootstrap", BootstrapFeatureFlagsInput, AnyBootstrapResult | undefined> & {
    readonly selects: "all";
  }
> = {
  summary: "Evaluate all flags",
  method: "POST",
  path: "/feature-flags/bootstrap",
  scope: "server",
  action: "public",
  rateLimit: "bootstrap",
  failure: "EVALUATION_ERROR",
  body: bootstrapBody,
  result: () => evaluationsSchema(["flags", "evaluatedAt", "context"]),
  async run(call) {
    const input = parseBootstrapInput(readBody(call));
    const scope = await openScope(call, input);
    const { request, headers } = call;
    // Server code gets an object, which has no tag.
    if (request.request === undefined) return bootstrapResult(scope, input);
    const tag = new EntityTag();
    const result = await bootstrapResult(scope, input, tag);
    request.setHeader("etag", String(tag));
    if (!matchesTag(headers.get("if-none-match"), String(tag))) return result;
    request.setStatus(304);
    return undefined;
  },
};

function evaluationsSchema(required: string[]): ReturnType<typeof objectOf> {
  const fields = { flags: anyObject, evaluatedAt: time, context: schemaOf(claimedContext) };
  return objectOf({ ...fields, exposures: anyObject }, required);
}
