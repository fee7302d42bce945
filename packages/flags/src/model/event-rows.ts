/** The database rows of events, exposures and their roll-ups. `tables.ts` declares the tables. */

/** An analytics event. Its id begins with the time of receipt. */
export type EventRow = {
  id: string;
  eventId: string;
  tenant: string;
  flagKey: string;
  /** Null if the flag does not exist. */
  flagId: string | null;
  event: string;
  /** Text, because a number may have a fraction. */
  value: string | null;
  properties: string | null;
  userId: string | null;
  anonymousId: string | null;
  /** The id of the flag's bucketing unit. Null if the event lacks it; empty if the sender is not a subject. */
  subject: string | null;
  organizationId: string | null;
  variant: string | null;
  at: string;
  receivedAt: string;
  sampleRate: string;
  idempotencyKey: string | null;
};

/** A used idempotency key, with the response. */
export type EventKeyRow = {
  id: string;
  keyHash: string;
  bodyHash: string;
  answer: string;
  /** ISO 8601. */
  expiresAt: string;
};

/** An exposure: a user saw an arm of a flag in an hour. Its id begins with the time. */
export type ExposureRow = {
  id: string;
  exposureId: string;
  /** The SHA-256 of the fields that identify an exposure. */
  exposureHash: string;
  tenant: string;
  flagId: string;
  /** The arm. */
  variant: string;
  /** Whether chance decided the arm. */
  byChance: boolean;
  /** The id of the flag's bucketing unit. Null if the context lacks it; empty if the caller cannot be a subject. */
  subject: string | null;
  /** Empty if there is none. */
  userId: string;
  anonymousId: string | null;
  /** The first and the last time of this exposure in its hour, ISO 8601. */
  firstAt: string;
  lastAt: string;
};

/** The user who signed in first in the browser with this anonymous id. */
export type LinkRow = {
  id: string;
  /** The SHA-256 of `anonymousId`, because some collations treat `Ann` and `ann` as equal. */
  linkHash: string;
  anonymousId: string;
  userId: string;
  /** ISO 8601. */
  at: string;
};

/*
 * Roll-ups: their ids begin with the hour, so that they sort by time. Counts are in millionths, because a sampled event
 * counts as 1 / sampleRate events. The columns are `bigint`, within the safe integers of JavaScript.
 */

/** Events of one name with one variant of a flag in one hour. */
export type EventCountRow = {
  id: string;
  rollupId: string;
  tenant: string;
  /** Empty if the flag does not exist. */
  flagId: string;
  variant: string;
  event: string;
  count: number;
  /** The events that have a value. */
  valued: number;
  /** The sum of the values: whole units plus millionths. */
  sumUnits: number;
  sumMillionths: number;
};

/** Evaluations of a flag in one hour, by reason. */
export type EvaluationCountRow = {
  id: string;
  rollupId: string;
  tenant: string;
  flagId: string;
  ruleMatch: number;
  override: number;
  percentageRollout: number;
  byDefault: number;
  disabled: number;
};
