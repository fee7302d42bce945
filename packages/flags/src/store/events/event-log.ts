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

/** A user saw a variant of a flag. Counted once per user, flag, variant and day. */
export interface Exposure {
  readonly tenant: string;
  readonly flagKey: string;
  /** `""` without a variant. */
  readonly variant: string;
  /** The user's id, or the anonymous id, or `""`. All visitors without an id count as one. */
  readonly userId: string;
  readonly atMs: number;
}

/** The number of evaluations of a flag in one hour with one reason. */
export interface EvaluationCount {
  readonly tenant: string;
  readonly flagKey: string;
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

/** Evaluations and exposed users of one flag. */
export interface FlagFigures {
  readonly byReason: ReadonlyMap<EvaluationReason, number>;
  /** Evaluations by start of the hour. */
  readonly byHour: ReadonlyMap<string, number>;
  readonly uniqueUsers: number;
  readonly exposures: ReadonlyMap<string, { readonly exposures: number; readonly uniqueUsers: number }>;
  /** By variant, then by event name. Sampled events are weighted by their sample rate. */
  readonly events: ReadonlyMap<
    string,
    ReadonlyMap<string, { readonly count: number; readonly sum: number; readonly valued: number }>
  >;
}

export interface UsageFigures {
  readonly evaluations: number;
  readonly events: number;
  /** Evaluations by tenant and flag key. */
  readonly byFlag: readonly {
    readonly tenant: string;
    readonly flagKey: string;
    readonly evaluations: number;
  }[];
  readonly byHour: ReadonlyMap<string, number>;
}

/**
 * `record` and `recordBatch` resolve after the events and their hourly roll-ups are committed together. Every method
 * rejects with a `FeatureFlagError`: 429 if too many events wait to be written.
 */
export interface EventLog {
  record(entry: EventEntry): Promise<Recorded>;
  recordBatch(batch: EventBatch): Promise<BatchRecorded>;
  /** Stores one row per user, flag, variant and day, even if it is called repeatedly. */
  expose(exposures: readonly Exposure[]): Promise<void>;
  /** Adds to the hourly roll-ups. Repeated calls with the same `id` (a UUID) within 48 h add once. */
  count(counts: readonly EvaluationCount[], id?: string): Promise<void>;

  flagFigures(tenant: string, flagKey: string, window: FigureWindow): Promise<FlagFigures>;
  /** Evaluations and exposed users of many flags of a tenant, by key. */
  summaries(
    tenant: string,
    flagKeys: readonly string[],
    window: FigureWindow,
  ): Promise<ReadonlyMap<string, { readonly evaluations: number; readonly uniqueUsers: number }>>;
  usageFigures(tenant: string | "all", window: FigureWindow): Promise<UsageFigures>;

  /** Deletes rows that are past their retention, in chunks. */
  sweep(nowMs: number): Promise<void>;
  /** Requests that are not committed yet. */
  depth(): number;
  /** Waits for accepted requests and stops background work. */
  close(): Promise<void>;
}
