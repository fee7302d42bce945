/** The rows that hold events, what was counted of them, and evaluations. The tables are among the others. */

/** An analytics event. Its id begins with the time of receipt. */
export type EventRow = {
  id: string;
  eventId: string;
  tenant: string;
  flagKey: string;
  event: string;
  /** A number may have a fraction, so it is text. */
  value: string | null;
  properties: string | null;
  userId: string | null;
  organizationId: string | null;
  variant: string | null;
  at: string;
  receivedAt: string;
  sampleRate: string;
  idempotencyKey: string | null;
};

/** An idempotency key that was used, and what was answered. */
export type EventKeyRow = {
  id: string;
  keyHash: string;
  bodyHash: string;
  answer: string;
  /** ISO 8601. */
  expiresAt: string;
};

/** Somebody was shown a variant of a flag on a day. Its id begins with the time. */
export type ExposureRow = {
  id: string;
  exposureId: string;
  /** The SHA-256 of all that makes it the same exposure. */
  exposureHash: string;
  tenant: string;
  flagKey: string;
  variant: string;
  userId: string;
};

/*
 * Roll-ups: their ids begin with the hour, so that they are in its order. Counts are in millionths, because an event
 * that was sampled stands for a fraction of many; `bigint` columns, never beyond what a JavaScript number holds.
 */

/** Events of one name with one variant of a flag in one hour. */
export type EventCountRow = {
  id: string;
  rollupId: string;
  tenant: string;
  flagKey: string;
  variant: string;
  event: string;
  count: number;
  /** Those that have a value. */
  valued: number;
  /** The sum of the values: whole units, and millionths beside them. */
  sumUnits: number;
  sumMillionths: number;
};

/** Evaluations of a flag in one hour, by reason. */
export type EvaluationCountRow = {
  id: string;
  rollupId: string;
  tenant: string;
  flagKey: string;
  ruleMatch: number;
  override: number;
  percentageRollout: number;
  byDefault: number;
  disabled: number;
};
