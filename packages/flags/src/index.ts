/** Feature flags as a Better Auth plugin: the public names of the server. */
export type { EvaluationContext, EvaluationReason, FlagType } from "./engine/evaluate.ts";
export type { JsonValue } from "./engine/json.ts";
export {
  FEATURE_FLAG_ERROR_CODES,
  type FeatureFlagErrorCode,
  type FeatureFlagErrorCodes,
} from "./model/errors.ts";
export type {
  AnyEvaluationResult,
  ClaimedContext,
  EvaluateFeatureFlagInput,
  EvaluationField,
  EvaluationMetadata,
  EvaluationResult,
  EvaluationSelect,
} from "./model/evaluation.ts";
export type { FeatureFlag, JsonObject } from "./model/flag.ts";
export type { CreateFeatureFlagInput } from "./model/inputs.ts";
export type { FeatureFlagTableNames } from "./model/tables.ts";
export { type FeatureFlagsOptions, type FeatureFlagsPlugin, featureFlags } from "./server/plugin.ts";
