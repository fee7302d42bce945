/** Evaluation of one flag, of several, and of all: `/feature-flags/evaluate`, `evaluate-batch` and `bootstrap`. */
import { chain } from "@halyard/base";
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
} from "../../model/evaluation-input.ts";
import { type EvaluationStages, evaluationStages, isKnown } from "../evaluation/answer.ts";
import { bootstrapText } from "../evaluation/bootstrap-text.ts";
import { readBootstrapInput, readEvaluateInput } from "../evaluation/quick-input.ts";
import { batchResult, bootstrapResult, singleResult, tagOf } from "../evaluation/results.ts";
import { MAX_BATCH_BODY_BYTES } from "../http/body-limit.ts";
import { anyObject, objectOf, schemaOf, time } from "../http/openapi.ts";
import type { Post, PublicOperation } from "./definition.ts";
import { EVALUATION_FIELDS } from "./schemas.ts";

const one: EvaluationStages<AnyEvaluationResult> = evaluationStages({
  parse: readEvaluateInput,
  result: singleResult,
  text: (scope, input) => ({ text: JSON.stringify(singleResult(scope, input)) }),
});

const several: EvaluationStages<AnyBatchResult> = evaluationStages({
  parse: parseBatchInput,
  result: batchResult,
  text: (scope, input: EvaluateFeatureFlagsInput) =>
    chain(batchResult(scope, input), (result) => ({ text: JSON.stringify(result) })),
});

const all: EvaluationStages<AnyBootstrapResult | undefined> = evaluationStages({
  parse: readBootstrapInput,
  result: (scope, input, call) =>
    chain(bootstrapResult(scope, input), (result) => {
      // Server code gets an object, which has no tag.
      const isHttp = call.request.request !== undefined;
      return isHttp && isKnown(call, tagOf(scope, result)) ? undefined : result;
    }),
  text: bootstrapText,
});

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
  stages: one,
  run: (call) => chain(one.prepare(call), (prepared) => prepared.result()),
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
  stages: several,
  run: (call) => chain(several.prepare(call), (prepared) => prepared.result()),
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
  stages: all,
  run: (call) => chain(all.prepare(call), (prepared) => prepared.result()),
};

function evaluationsSchema(required: string[]): ReturnType<typeof objectOf> {
  const fields = { flags: anyObject, evaluatedAt: time, context: schemaOf(claimedContext) };
  return objectOf({ ...fields, exposures: anyObject }, required);
}
