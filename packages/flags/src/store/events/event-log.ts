/** The contract of the event log, which stores events, exposures and evaluation counts. */
import type { EvaluationReason } from "../../engine/definition.ts";
import type { FeatureFlagEventBatchResult, StoredFlagEvent } from "../../model/event.ts";

/** An idempotency key in its scope, and the body it was sent with, as SHA-256 in hex. */
export interface Dedupe {
  readonly keyHash: string;
  readonly bodyHash: string;
}

export interface EventEntry {
  readonly tenant: string;
  readonly event: StoredFlagEvent;
  /** Undefined if the flag does not exist. */
  readonly flagId?: string | undefined;
  /**
   * The id of the flag's bucketing unit. Undefined if the event lacks it: statistics then follow the link that a sign-in
   * has made. Empty if the sender cannot be a subject of an experiment.
   */
  readonly subject?: string | undefined;
  /** False if the event is sampled out. Its key is stored, the event is not. */
  readonly isKept: boolean;
  readonly dedupe?: Dedupe;
}

/**
 * `stored`: the event is new, or sampled out. `duplicate`: the key was used with the same body; `eventId` is that of the
 * first event. `conflict`: the key was used with another body.
 */
export interface Recorded {
  readonly outcome: "stored" | "duplicate" | "conflict";
  readonly eventId: string;
}

export interface EventBatch {
  readonly entries: readonly EventEntry[];
  /** Items that failed validation. They count in the answer. */
  readonly failed: number;
  readonly batchId: string;
  readonly dedupe?: Dedupe;
}

/** A `duplicate` has the answer of the first request. */
export type BatchRecorded =
  | { readonly outcome: "stored" | "duplicate"; readonly answer: FeatureFlagEventBatchResult }
  | { readonly outcome: "conflict" };

/** A user saw an arm of a flag, from the first to the last time in one hour. Counted once per user, flag, arm and day. */
export interface Exposure {
  readonly tenant: string;
  readonly flagId: string;
  /** The key of the variant, else `true` or `false`. */
  readonly arm: string;
  /** Whether chance decided the arm, so that the user is a subject of the experiment. */
  readonly byChance: boolean;
  /** The id of the flag's bucketing unit. Undefined if the context lacks it; empty if the caller cannot be a subject. */
  readonly subject?: string | undefined;
  readonly userId?: string | undefined;
  readonly anonymousId?: string | undefined;
  /** The environment in which the flag was evaluated. */
  readonly environment?: string | undefined;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A user has signed in in the browser with this anonymous id. The first link of an anonymous id counts. */
export interface IdentityLink {
  readonly anonymousId: string;
  readonly userId: string;
  readonly atMs: number;
}

/** The number of evaluations of a flag in one hour with one reason. */
export interface EvaluationCount {
  readonly tenant: string;
  readonly flagId: string;
  /** Start of the hour, ISO 8601. */
  readonly hour: string;
  readonly reason: EvaluationReason;
  readonly count: number;
}

/** Wall-clock times in ms; `startMs` inclusive, `endMs` exclusive. */
export interface FigureWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** The flag whose figures are read. */
export interface FigureFlag {
  readonly id: string;
  /** What the flag is bucketed by. Links resolve the first two only. */
  readonly unit: "userId" | "anonymousId" | "other";
  /** Exposures and events of this environment only. Evaluations are counted without one. Default: all. */
  readonly environment?: string | undefined;
}

/** Sampled events are weighted by their sample rate. */
export interface EventFigures {
  readonly count: number;
  readonly sum: number;
  /** Events with a value. */
  readonly valued: number;
  /** Distinct subjects. */
  readonly converters: number;
}

/** By arm. */
export interface ArmFigures {
  readonly exposures: ReadonlyMap<string, { readonly exposures: number; readonly uniqueUsers: number }>;
  /** By event name. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, EventFigures>>;
}

/**
 * Evaluations, exposures and events of one flag. An event is credited to the arm of its subject's first exposure ever to
 * the flag in the environment of the event; without one, to the arm `""`.
 */
export interface FlagFigures extends ArmFigures {
  readonly byReason: ReadonlyMap<EvaluationReason, number>;
  /** Evaluations by start of the hour. */
  readonly byHour: ReadonlyMap<string, number>;
  readonly uniqueUsers: number;
  /** Users who did not get their arm by chance. */
  readonly excluded: ArmFigures;
}

export interface UsageFigures {
  /** The figures contain every event that was acknowledged before. */
  readonly asOfMs: number;
  readonly evaluations: number;
  readonly events: number;
  readonly byFlag: readonly { readonly flagId: string; readonly evaluations: number }[];
  readonly byHour: ReadonlyMap<string, number>;
}

/** The flags whose evaluations are counted. */
export type ActivityScope = { readonly flagId: string } | { readonly tenant: string } | "all";

/** Evaluations with one reason in one hour. */
export interface HourlyReason {
  /** Start of the hour, ISO 8601. */
  readonly hour: string;
  readonly reason: EvaluationReason;
  readonly count: number;
}

/** Users who were shown one arm in one hour. */
export interface HourlyArm {
  /** Start of the hour, ISO 8601. */
  readonly hour: string;
  readonly arm: string;
  readonly count: number;
}

/**
 * `record` and `recordBatch` resolve after the events, their keys and their outbox entries are committed together. Every
 * method rejects with a `FeatureFlagError`: 429 if too many events wait to be written.
 */
export interface EventLog {
  record(entry: EventEntry): Promise<Recorded>;
  recordBatch(batch: EventBatch): Promise<BatchRecorded>;
  /** Stores one row per user, flag, arm and hour, even if it is called repeatedly. */
  expose(exposures: readonly Exposure[]): Promise<void>;
  /** Keeps the first link of each anonymous id. */
  link(links: readonly IdentityLink[]): Promise<void>;
  /** Adds to the hourly roll-ups. Repeated calls with the same `id` (a UUID) within 48 h add once. */
  count(counts: readonly EvaluationCount[], id?: string): Promise<void>;

  flagFigures(flag: FigureFlag, window: FigureWindow): Promise<FlagFigures>;
  /** Evaluations and exposed users of many flags, by id. */
  summaries(
    flags: readonly FigureFlag[],
    window: FigureWindow,
  ): Promise<ReadonlyMap<string, { readonly evaluations: number; readonly uniqueUsers: number }>>;
  /** Evaluations of flags of one tenant, by id and then by start of the hour (ISO 8601). */
  hourlyEvaluations(
    tenant: string,
    flagIds: readonly string[],
    window: FigureWindow,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>>;
  usageFigures(tenant: string | "all", window: FigureWindow): Promise<UsageFigures>;
  /** Evaluations by hour and reason, of one flag or of all flags of tenants. */
  activity(about: ActivityScope, window: FigureWindow): Promise<readonly HourlyReason[]>;
  /** Exposures of one flag by hour and arm, by chance or otherwise. */
  armActivity(flagId: string, window: FigureWindow): Promise<readonly HourlyArm[]>;

  /** Deletes everything that is stored about a flag, in chunks. */
  forget(flagId: string): Promise<void>;
  /** Deletes rows that are past their retention, in chunks. */
  sweep(nowMs: number): Promise<void>;
  /** Requests that are not committed yet. */
  depth(): number;
  /** Waits for accepted requests and stops background work. */
  close(): Promise<void>;
}
