/**
 * The types of the plugin's endpoints, which become those of `auth.api`. Written by hand, not inferred: inferred
 * endpoint types name packages that a user's package manager may not resolve.
 */
import type { AuthEndpoint } from "@better-auth/core/api";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { AuditEntry } from "../model/audit.ts";
import type {
  AnyBatchResult,
  AnyBootstrapResult,
  AnyEvaluationResult,
  BatchResult,
  BootstrapFeatureFlagsInput,
  BootstrapResult,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
  EvaluationResult,
  EvaluationSelect,
  ExplainFeatureFlagInput,
  FlagExplanation,
} from "../model/evaluation.ts";
import type {
  FeatureFlagEventBatchInput,
  FeatureFlagEventBatchResult,
  FeatureFlagEventInput,
  FeatureFlagEventResult,
} from "../model/event.ts";
import type {
  CreateFeatureFlagInput,
  FeatureFlag,
  FeatureFlagPatch,
  ListedFeatureFlag,
} from "../model/flag.ts";
import type { UpdateFeatureFlagInput } from "../model/flag-input.ts";
import type {
  ListFeatureFlagAuditEntriesQuery,
  ListFeatureFlagOverridesQuery,
  ListFeatureFlagSegmentsQuery,
  ListFeatureFlagsQuery,
} from "../model/list-query.ts";
import type { OfrepBulkEvaluation, OfrepEvaluation, OfrepInput } from "../model/ofrep.ts";
import type { FlagOverride, FlagOverrideInput } from "../model/override.ts";
import type { Page } from "../model/page.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../model/rule.ts";
import type { CreateFeatureFlagRuleInput } from "../model/rule-input.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../model/segment.ts";
import type { FlagStats, FlagUsage } from "../model/stats.ts";
import type { FeatureFlagStatsQuery, FeatureFlagUsageQuery } from "../model/stats-query.ts";
import type { FeatureFlagsHealth } from "./health.ts";
import type { FeatureFlagsReadiness } from "./readiness.ts";
import type { ROUTES } from "./routes.ts";

type Routes = typeof ROUTES;
/** The operations that have a URL. */
export type Routed = {
  [Name in keyof Routes]: Routes[Name] extends { path: string } ? Name : never;
}[keyof Routes];

export type PathOf<Name extends Routed> = Routes[Name]["path"];

/** `server`: reached by URL and by `auth.api`. `http`: by URL only. */
export type Scope = "server" | "http";

export type ReadOptions<Query, S extends Scope> = {
  method: "GET";
  query: StandardSchemaV1<Query | undefined>;
  metadata: { scope: S };
};
export type WriteOptions<Method extends "POST" | "PATCH", Input, S extends Scope> = {
  method: Method;
  body: StandardSchemaV1<Input>;
  metadata: { scope: S };
};
export type DeleteOptions<S extends Scope> = { method: "DELETE"; disableBody: true; metadata: { scope: S } };
export type MethodOptions<Input> = {
  method: "POST";
  body: StandardSchemaV1<Input>;
  metadata: { scope: "server" };
};

type Read<Name extends Routed, Query, Output, S extends Scope = "server"> = AuthEndpoint<
  PathOf<Name>,
  ReadOptions<Query, S>,
  Output
>;
type Post<Name extends Routed, Input, Output, S extends Scope = "server"> = AuthEndpoint<
  PathOf<Name>,
  WriteOptions<"POST", Input, S>,
  Output
>;
type Patch<Name extends Routed, Input, Output, S extends Scope> = AuthEndpoint<
  PathOf<Name>,
  WriteOptions<"PATCH", Input, S>,
  Output
>;
type Delete<Name extends Routed, S extends Scope> = AuthEndpoint<PathOf<Name>, DeleteOptions<S>, void>;
/** Reached by `auth.api` only. */
type Method<Input, Output> = AuthEndpoint<string, MethodOptions<Input>, Output>;

/** A method whose result depends on `select`; Better Auth's type has one result per endpoint. */
type EvaluateEndpoint = (<const Select extends EvaluationSelect = "full">(call: {
  body: EvaluateFeatureFlagInput<Select>;
  headers?: HeadersInit;
}) => Promise<EvaluationResult<Select>>) &
  Post<"evaluateFeatureFlag", EvaluateFeatureFlagInput, AnyEvaluationResult>;

type BatchEndpoint = (<const Select extends EvaluationSelect = "full">(call: {
  body: EvaluateFeatureFlagsInput<Select>;
  headers?: HeadersInit;
}) => Promise<BatchResult<Select>>) &
  Post<"evaluateFeatureFlags", EvaluateFeatureFlagsInput, AnyBatchResult>;

type BootstrapEndpoint = (<const Select extends EvaluationSelect = "full">(call: {
  body: BootstrapFeatureFlagsInput<Select>;
  headers?: HeadersInit;
}) => Promise<BootstrapResult<Select>>) &
  Post<"bootstrapFeatureFlags", BootstrapFeatureFlagsInput, AnyBootstrapResult>;

type NoQuery = Record<string, never>;

/**
 * Without `headers` a call is trusted; with them the caller needs the action named here, on the resource
 * `featureFlag`. Names that end in `Route` are reached by URL only.
 */
export type FeatureFlagsEndpoints = {
  /** Evaluates a flag. A flag that does not exist gives the caller's `default` and reason `not_found`. */
  evaluateFeatureFlag: EvaluateEndpoint;
  /** Evaluates up to 100 flags. */
  evaluateFeatureFlags: BatchEndpoint;
  /** Evaluates all enabled flags. */
  bootstrapFeatureFlags: BootstrapEndpoint;
  /** Records an event. With the header `Idempotency-Key`, once, however often it is sent within 48 hours. */
  createFeatureFlagEvent: Post<"createFeatureFlagEvent", FeatureFlagEventInput, FeatureFlagEventResult>;
  /** Records up to 1,000 events; with `idempotencyKey`, once. An event that is wrong fails by itself. */
  createFeatureFlagEventBatch: Post<
    "createFeatureFlagEventBatch",
    FeatureFlagEventBatchInput,
    FeatureFlagEventBatchResult
  >;
  /** Says how the service is; in full for server calls and with `read`. */
  getFeatureFlagsHealth: Read<"getFeatureFlagsHealth", NoQuery, FeatureFlagsHealth>;
  /** Says whether this process can answer for flags: 200, or 503 with the reason. */
  getFeatureFlagsReadiness: Read<"getFeatureFlagsReadiness", NoQuery, FeatureFlagsReadiness>;
  /** Gives the metrics of this process as Prometheus text. Needs `read` on the flags of all organizations. */
  getFeatureFlagsMetrics: Read<"getFeatureFlagsMetrics", NoQuery, string>;

  /** Lists flags. Needs `read`. */
  listFeatureFlags: Read<
    "listFeatureFlags",
    ListFeatureFlagsQuery,
    { flags: ListedFeatureFlag[]; page: Page }
  >;
  /** Creates a flag. Needs `create`. */
  createFeatureFlag: Post<"createFeatureFlag", CreateFeatureFlagInput, FeatureFlag>;
  getFeatureFlagRoute: Read<"getFeatureFlagRoute", NoQuery, FeatureFlag, "http">;
  /** Changes the fields that are given; `null` clears an optional one. Needs `update`. */
  updateFeatureFlag: Method<UpdateFeatureFlagInput, FeatureFlag>;
  updateFeatureFlagRoute: Patch<"updateFeatureFlagRoute", FeatureFlagPatch, FeatureFlag, "http">;
  /** Deletes a flag with its rules and overrides. Needs `delete`. */
  deleteFeatureFlag: Method<{ id: string; version?: number | undefined }, void>;
  deleteFeatureFlagRoute: Delete<"deleteFeatureFlagRoute", "http">;
  /** Says step by step why a flag gives what it gives. Needs `read`. */
  explainFeatureFlag: Post<"explainFeatureFlag", ExplainFeatureFlagInput | undefined, FlagExplanation>;

  /** Says how often a flag was evaluated, for whom, and what they did. Needs `read`. */
  getFeatureFlagStats: Read<"getFeatureFlagStats", FeatureFlagStatsQuery, FlagStats>;
  /** Says how much all flags are used, and how many nobody uses. Needs `read`. */
  getFeatureFlagUsage: Read<"getFeatureFlagUsage", FeatureFlagUsageQuery, FlagUsage>;

  /** Lists a flag's rules in the order in which they are tried. Needs `read`. */
  listFeatureFlagRules: Read<"listFeatureFlagRules", NoQuery, { rules: FlagRule[] }>;
  /** Creates a rule. Needs `update`. */
  createFeatureFlagRule: Method<CreateFeatureFlagRuleInput, FlagRule>;
  createFeatureFlagRuleRoute: Post<"createFeatureFlagRuleRoute", FlagRuleInput, FlagRule, "http">;
  updateFeatureFlagRuleRoute: Patch<"updateFeatureFlagRuleRoute", FlagRulePatch, FlagRule, "http">;
  deleteFeatureFlagRuleRoute: Delete<"deleteFeatureFlagRuleRoute", "http">;

  /** Lists overrides. Needs `read`. */
  listFeatureFlagOverrides: Read<
    "listFeatureFlagOverrides",
    ListFeatureFlagOverridesQuery,
    { overrides: FlagOverride[]; page: Page }
  >;
  /** Sets a flag's value for one user. Needs `override`. */
  createFeatureFlagOverride: Post<"createFeatureFlagOverride", FlagOverrideInput, FlagOverride>;
  deleteFeatureFlagOverrideRoute: Delete<"deleteFeatureFlagOverrideRoute", "http">;

  /** Lists segments. Needs `read`. */
  listFeatureFlagSegments: Read<
    "listFeatureFlagSegments",
    ListFeatureFlagSegmentsQuery,
    { segments: FlagSegment[]; page: Page }
  >;
  /** Creates a segment. Needs `update`. */
  createFeatureFlagSegment: Post<"createFeatureFlagSegment", FlagSegmentInput, FlagSegment>;
  /** Reads a segment. Needs `read`. */
  getFeatureFlagSegment: Read<"getFeatureFlagSegment", NoQuery, FlagSegment>;
  /** Changes a segment, and with it every rule that names it. Needs `update`. */
  updateFeatureFlagSegment: Patch<
    "updateFeatureFlagSegment",
    FlagSegmentPatch & { version?: number | undefined },
    FlagSegment,
    "server"
  >;
  /** Deletes a segment that nothing uses. Needs `update`. */
  deleteFeatureFlagSegment: Delete<"deleteFeatureFlagSegment", "server">;

  /** Reads the audit log, newest first. Needs `audit`. */
  listFeatureFlagAuditEntries: Read<
    "listFeatureFlagAuditEntries",
    ListFeatureFlagAuditEntriesQuery,
    { entries: AuditEntry[] }
  >;

  evaluateOfrepFlagRoute: Post<"evaluateOfrepFlagRoute", OfrepInput, OfrepEvaluation, "http">;
  evaluateOfrepFlagsRoute: Post<
    "evaluateOfrepFlagsRoute",
    OfrepInput,
    OfrepBulkEvaluation | undefined,
    "http"
  >;
};
