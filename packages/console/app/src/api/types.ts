/** What the console's API sends: the types of the flags package, with times as ISO 8601 text. */
import type {
  AuditEntry,
  ExplanationStep,
  FeatureFlag,
  FlagOverride,
  FlagRule,
  FlagSegment,
  FlagSummary,
  FlagWarning,
  JsonValue,
} from "@halyard/flags";

export type {
  AuditEntry,
  AuditVerdict,
  ConditionOperator,
  EnvironmentSettings,
  EvaluationReason,
  ExplanationStep,
  FeatureFlagPatch,
  FeatureFlagPlan,
  FeatureFlagsHealth,
  FlagAction,
  FlagImpact,
  FlagStats,
  FlagType,
  FlagUsage,
  FlagWarning,
  JsonObject,
  JsonValue,
  Page,
  RuleConditions,
  SegmentCondition,
  SimpleCondition,
  Variant,
} from "@halyard/flags";
export type {
  ActivityResponse,
  ConsoleKey,
  ConsoleSession,
  CreateKeyResponse,
  EvaluationsResponse,
  ExportAuditResponse,
  FlagsProcess,
  KeysResponse,
  LogResponse,
  MatchesResponse,
  PeopleResponse,
  Person,
  PersonFlag,
  PersonResponse,
  ProcessesResponse,
  RevisionResponse,
} from "../../../src/api.ts";

type Timed = "createdAt" | "updatedAt" | "expiresAt";
type Sent<Entity> = Omit<Entity, Timed> & {
  readonly [Field in keyof Entity & Timed]: SentTime<Entity[Field]>;
};
type SentTime<Time> = Time extends Date ? string : undefined extends Time ? string | undefined : Time;

export type Flag = Sent<FeatureFlag> & { readonly stats?: FlagSummary };
export type Rule = Sent<FlagRule>;
export type Segment = Sent<FlagSegment>;
export type Override = Sent<Omit<FlagOverride, "expiresAt">> & { readonly expiresAt?: string };
export type Entry = AuditEntry & {
  /** The names of people by id, where they are known. */
  readonly names: Readonly<Record<string, string>>;
};
export type Warned<Entity> = Entity & { readonly warnings?: readonly FlagWarning[] };

export interface Explanation {
  readonly result: {
    readonly value: JsonValue;
    readonly variant?: string;
    readonly reason: string;
  };
  readonly steps: readonly ExplanationStep[];
  readonly ignored?: boolean;
}

/** The flags after a plan was applied. */
export interface AppliedFlags {
  readonly flags: readonly Warned<Flag>[];
}
