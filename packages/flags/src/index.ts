/** The public names of `@halyard/flags`, the Better Auth plugin for servers. */
export type {
  BucketBy,
  ConditionOperator,
  DeviceInfo,
  EnvironmentSettings,
  EvaluationContext,
  EvaluationReason,
  FlagType,
  GeoInfo,
  RuleConditions,
  SegmentCondition,
  SimpleCondition,
  TrustedRoot,
  Variant,
} from "./engine/definition.ts";
export type { ExplanationStep } from "./engine/explain.ts";
export type { JsonObject, JsonValue } from "./engine/json.ts";
export type { FlagAction } from "./model/action.ts";
export type { Actor, AuditAction, AuditEntry, AuditHead, AuditVerdict } from "./model/audit.ts";
export type { FlagState, FlagsBootstrap } from "./model/bootstrap.ts";
export {
  type BooleanFlagKey,
  defineFlags,
  type FlagDeclaration,
  type FlagDeclarations,
  type FlagKey,
  type FlagValue,
  type ReadValue,
  type ValueOf,
  type VariantKey,
  type VariantOf,
} from "./model/declared.ts";
export type { EnvironmentSettingsPatch, EnvironmentsPatch } from "./model/environments.ts";
export {
  FEATURE_FLAG_ERROR_CODES,
  type FeatureFlagErrorCode,
  type FeatureFlagErrorCodes,
} from "./model/errors.ts";
export type {
  AnyBatchResult,
  AnyBootstrapResult,
  AnyEvaluationResult,
  BatchResult,
  BootstrapFeatureFlagsInput,
  BootstrapResult,
  ClaimedContext,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
  EvaluationField,
  EvaluationFields,
  EvaluationMap,
  EvaluationMetadata,
  EvaluationResult,
  EvaluationSelect,
  ExplainFeatureFlagInput,
  ExposureTokenMap,
  FlagExplanation,
} from "./model/evaluation.ts";
export type {
  FeatureFlagBatchEventInput,
  FeatureFlagEventBatchInput,
  FeatureFlagEventBatchResult,
  FeatureFlagEventInput,
  FeatureFlagEventResult,
  StoredFlagEvent,
} from "./model/event.ts";
export type { FeatureFlagExposuresInput, FeatureFlagExposuresResult } from "./model/exposure-input.ts";
export type {
  CreateFeatureFlagInput,
  FeatureFlag,
  FeatureFlagPatch,
  FlagVisibility,
  ListedFeatureFlag,
} from "./model/flag.ts";
export {
  type ConditionMember,
  type ConditionOperand,
  type ContextPath,
  type FlagConditions,
  flagConditions,
} from "./model/flag-conditions.ts";
export type { UpdateFeatureFlagInput } from "./model/flag-input.ts";
export type {
  ListFeatureFlagAuditEntriesQuery,
  ListFeatureFlagOverridesQuery,
  ListFeatureFlagSegmentsQuery,
  ListFeatureFlagsQuery,
} from "./model/list-query.ts";
export type { OnlineSource } from "./model/online.ts";
export type { FlagOverride, FlagOverrideInput } from "./model/override.ts";
export type { Page } from "./model/page.ts";
export type {
  AppliedFeatureFlagPlan,
  FeatureFlagPlan,
  FeatureFlagPreview,
  FlagImpact,
  MovedUser,
  PlanConflict,
  PlanFeatureFlagsInput,
  PlannedChange,
  PlannedFlagChange,
  PlannedOverrides,
  PlannedRules,
  PlannedSegmentChange,
  PlannedUsers,
  RevertedAuditEntry,
  RevertedFeatureFlagChange,
  RuleImpact,
  ValueCount,
  ValueMove,
} from "./model/plan.ts";
export type { FlagRule, FlagRuleInput, FlagRulePatch } from "./model/rule.ts";
export type { CreateFeatureFlagRuleInput } from "./model/rule-input.ts";
export type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "./model/segment.ts";
export type {
  FlagArmStats,
  FlagEventStats,
  FlagStats,
  FlagSummary,
  FlagUsage,
  FlagVariantStats,
  StatsWindow,
} from "./model/stats.ts";
export type { FeatureFlagStatsQuery, FeatureFlagUsageQuery } from "./model/stats-query.ts";
export type { FeatureFlagTableNames } from "./model/tables.ts";
export {
  defineTrusted,
  type TrustedComputeInput,
  type TrustedOptions,
  type TrustedPath,
  type TrustedResult,
  type TrustedRow,
} from "./model/trusted.ts";
export type { FlagWarning, FlagWarningCode, WithWarnings } from "./model/warning.ts";
export { featureFlagStatements } from "./server/access/actions.ts";
export {
  type FeatureFlagsBus,
  type FlagsPubSub,
  type FlagsSubscriber,
  type PostgresBusOptions,
  postgresBus,
} from "./server/bus.ts";
export { type AuthWithHandler, withFeatureFlags } from "./server/fast/with-feature-flags.ts";
export { type AuthWithUsers, makeFeatureFlagAdmin, type UserStore } from "./server/first-admin.ts";
export type { LimitRule, RateLimitQuota } from "./server/limits/limits.ts";
export type { FeatureFlagsRateLimit } from "./server/limits/options.ts";
export type { RateLimitGrant, RateLimitStore, RateLimitWindow } from "./server/limits/store.ts";
export type {
  ChangeQuery,
  EntityQuery,
  ExpectedVersion,
  NoQuery,
} from "./server/operations/definition.ts";
export type { FeatureFlagsEndpoints } from "./server/operations/endpoints.ts";
export type {
  BatchMethod,
  BootstrapMethod,
  EvaluateMethod,
} from "./server/operations/evaluation-calls.ts";
export type { FeatureFlagsHealth } from "./server/operations/health.ts";
export type { CallOptions, CallResult } from "./server/operations/method-type.ts";
export type { PlanMethod } from "./server/operations/plan-calls.ts";
export type { FeatureFlagsReadiness } from "./server/operations/readiness.ts";
export type { FeatureFlagsOptions, PermissionContext } from "./server/options.ts";
export {
  type AuthWithFlags,
  closeFeatureFlags,
  deliverFeatureFlagEvents,
  type FeatureFlagsPlugin,
  featureFlags,
} from "./server/plugin.ts";
export {
  type AuthWithEvaluation,
  createServerFlags,
  type EvaluationMethods,
  type ServerBootstrapOptions,
  type ServerFlags,
  type ServerReadOptions,
  serializeBootstrap,
} from "./server/server-flags.ts";
export { type VerifyAuditOptions, verifyFeatureFlagAudit } from "./server/verify-audit.ts";
export { featureFlagsPostgresMigration } from "./store/events/postgres/tables.ts";
export type { EventSink, EventSinkContext } from "./store/events/sinks/sink.ts";
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookBody,
  type WebhookSinkOptions,
  webhookSink,
} from "./store/events/sinks/webhook.ts";
export type { IgnoredFlag } from "./store/flag-store.ts";
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresRows } from "./store/postgres/pool.ts";
