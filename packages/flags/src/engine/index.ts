/** The public names of `@halyard/flags/engine`: pure evaluation, which gives the same results on every runtime. */
export { type CompiledFlag, compileFlag } from "./compile.ts";
export {
  type CheckedConditions,
  type ConditionProblem,
  checkConditions,
  checkReferences,
  countRegex,
  segmentsOf,
} from "./conditions.ts";
export type {
  BucketBy,
  ConditionOperator,
  DeviceInfo,
  EnvironmentSettings,
  Evaluation,
  EvaluationContext,
  EvaluationReason,
  FlagDefinition,
  FlagType,
  GeoInfo,
  OverrideDefinition,
  RuleConditions,
  RuleDefinition,
  SegmentCondition,
  Segments,
  SimpleCondition,
  TrustedRoot,
  Variant,
} from "./definition.ts";
export type { Explanation, ExplanationStep, OriginOf } from "./explain.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export { murmur3 } from "./murmur.ts";
export type { Path, Root } from "./path.ts";
