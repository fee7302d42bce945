/** What the console's API sends: the types of the flags package, with times as ISO 8601 text. */
import type {
  AuditEntry,
  FeatureFlagPreview,
  FlagOverride,
  FlagRule,
  FlagSegment,
  ListedFeatureFlag,
} from "@halyard/flags";

export type {
  ConditionOperator,
  EnvironmentSettings,
  ExplanationStep,
  FeatureFlagsHealth,
  FlagAction,
  FlagExplanation,
  FlagImpact,
  FlagStats,
  FlagType,
  JsonObject,
  JsonValue,
  PlanFeatureFlagsInput,
  PlannedFlagChange,
  RuleConditions,
  SegmentCondition,
  SimpleCondition,
  Variant,
} from "@halyard/flags";
export type {
  ActivityResponse,
  ConsoleKey,
  ConsoleSession,
  ExportAuditResponse,
  FlagsProcess,
  MissingFlag,
  Person,
  PersonFlag,
  PersonResponse,
  ProcessesResponse,
} from "../../../src/api.ts";

type Timed = "createdAt" | "updatedAt" | "expiresAt" | "at";
type Listed = "flags" | "rules" | "overrides" | "segments" | "entries";
type SentTime<Time> = Time extends Date ? string : Time;

/** An answer with the times of its entities as they are sent. `number` stands for the entities of a list. */
export type Sent<Answer> = Answer extends void
  ? null
  : {
      [Field in keyof Answer]: Field extends Timed
        ? SentTime<Answer[Field]>
        : Field extends Listed | number
          ? Sent<Answer[Field]>
          : Answer[Field];
    };

export type Flag = Sent<ListedFeatureFlag>;
export type Rule = Sent<FlagRule>;
/** What changes would do. With an id: they can be made as they were counted. */
export type FeatureFlagPlan = FeatureFlagPreview & { readonly id?: string };
export type Segment = Sent<FlagSegment>;
export type Override = Sent<FlagOverride>;
export type Entry = Sent<AuditEntry> & {
  /** The names of people by id, where they are known. */
  readonly names: Readonly<Record<string, string>>;
};
