/** The seam between the service and the place where events, exposures and counts are kept. */
import type { EvaluationReason } from "../../engine/definition.ts";
import type { FeatureFlagEventBatchResult, StoredFlagEvent } from "../../model/event.ts";

/** An idempotency key within its scope, and the body it was first sent with. Both are SHA-256, in hex. */
export interface Dedupe {
  readonly keyHash: string;
  readonly bodyHash: string;
}

export interface EventEntry {
  readonly tenant: string;
  readonly event: StoredFlagEvent;
  /** False: sampled out. Its key is remembered, the event is not. */
  readonly isKept: boolean;
  readonly dedupe?: Dedupe;
}

/**
 * `stored`: for the first time, or sampled out. `duplicate`: the key was used with this body, and `eventId` is that of
 * the first. `conflict`: it was used with another.
 */
export interface Recorded {
  readonly outcome: "stored" | "duplicate" | "conflict";
  readonly eventId: string;
}

export interface EventBatch {
  readonly entries: readonly EventEntry[];
  /** Items that failed before they came here; they count in the answer. */
  readonly failed: number;
  readonly batchId: string;
  readonly dedupe?: Dedupe;
}

/** For a `duplicate` the answer is that of the first time. */
export type BatchRecorded =
  | { readonly outcome: "stored" | "duplicate"; readonly answer: FeatureFlagEventBatchResult }
  | { readonly outcome: "conflict" };

/** Somebody was shown a variant of a flag. Counted once per user, flag, variant and day. */
export interface Exposure {
  readonly tenant: string;
  readonly flagKey: string;
  /** `""` for none. */
  readonly variant: string;
  /** The user, else the anonymous id, else `""`: all that nobody knows count as one. */
  readonly userId: string;
  readonly atMs: number;
}

/** Evaluations of a flag in one hour that ended with one reason. */
export interface EvaluationCount {
  readonly tenant: string;
  readonly flagKey: string;
  /** The hour's start, ISO 8601. */
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
  /** Evaluations by the hour's start. */
  readonly byHour: ReadonlyMap<string, number>;
  readonly uniqueUsers: number;
  readonly exposures: ReadonlyMap<string, { readonly exposures: number; readonly uniqueUsers: number }>;
  /** By variant, then by event name. Sampled events count for those that were not kept. */
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
 * What is recorded is committed before the promise resolves, with its hourly roll-up, or not at all. Every method
 * rejects with a `FeatureFlagError`: 429 when too much is waiting to be written.
 */
export interface EventLog {
  record(entry: EventEntry): Promise<Recorded>;
  recordBatch(batch: EventBatch): Promise<BatchRecorded>;
  /** One row per user, flag, variant and day, however often it is called. */
  expose(exposures: readonly Exposure[]): Promise<void>;
  /** Adds to the hourly roll-ups: once for an id, a UUID, however often it is called with it within two days. */
  count(counts: readonly EvaluationCount[], id?: string): Promise<void>;

  flagFigures(tenant: string, flagKey: string, window: FigureWindow): Promise<FlagFigures>;
  /** Evaluations and exposed users of many flags of a tenant, by key. */
  summaries(
    tenant: string,
    flagKeys: readonly string[],
    window: FigureWindow,
  ): Promise<ReadonlyMap<string, { readonly evaluations: number; readonly uniqueUsers: number }>>;
  usageFigures(tenant: string | "all", window: FigureWindow): Promise<UsageFigures>;

  /** Deletes what is past its retention, a bounded number of rows at a time. */
  sweep(nowMs: number): Promise<void>;
  /** Requests that wait to be committed. */
  depth(): number;
  /** Waits for what was accepted, and stops. */
  close(): Promise<void>;
}
