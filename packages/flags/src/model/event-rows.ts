/** The database rows of events, exposures and their roll-ups. `tables.ts` declares the tables. */

/** An analytics event. Its id begins with the time of receipt. */
export type EventRow = {
  id: string;
  eventId: string;
  tenant: string;
  /** Null if the event is about no flag. */
  flagKey: string | null;
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
  /** Empty where flags were evaluated without an environment. */
  environment: string;
  at: string;
  receivedAt: string;
  sampleRate: string;
  idempotencyKey: string | null;
};

/** A used idempotency key, with the response. The hashes have 128 bits. */
export type EventKeyRow = {
  id: string;
  keyHash: string;
  bodyHash: string;
  /** The id of the event, or the answer of a batch as JSON. Empty if it follows from the keys of the batch's events. */
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
  /** Empty for an anonymous visitor. */
  userId: string;
  anonymousId: string | null;
  /** Empty where flags were evaluated without an environment. */
  environment: string;
  /** The first and the last time of this exposure in its hour, ISO 8601. */
  firstAt: string;
  lastAt: string;
};

/** The first exposure of a subject to a flag in an environment, which its events are credited to. */
export type SubjectRow = {
  id: string;
  /** The SHA-256 of the next three fields, because some collations treat `Ann` and `ann` as equal. */
  subjectHash: string;
  flagId: string;
  /** Empty where flags were evaluated without an environment. */
  environment: string;
  subject: string;
  arm: string;
  /** Whether chance decided the arm. */
  byChance: boolean;
  /** ISO 8601. */
  firstAt: string;
  /** The last exposure or event, exact to a day. */
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

/** Events of one name about a flag in one hour. */
export type EventCountRow = {
  id: string;
  rollupId: string;
  tenant: string;
  /** Empty if the flag does not exist. */
  flagId: string;
  event: string;
  count: number;
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
