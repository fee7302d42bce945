/** How long event logs keep what, how often they delete the rest, and how much may wait to be written. */
import { MAX_STATS_DAYS } from "../../model/stats-query.ts";
import { HOUR_MS } from "./hour.ts";

export interface Retention {
  /** Days that events and exposures are kept. */
  readonly eventDays: number;
  /** Days that roll-ups are kept. */
  readonly rollupDays: number;
}

export const EVENT_RETENTION_DAYS: number = 90;
export const ROLLUP_RETENTION_DAYS: number = MAX_STATS_DAYS;
/** Interval of the sweeps that delete old rows. */
export const SWEEP_MS: number = HOUR_MS;
/** Delay after a sweep that could not delete everything. */
export const SWEEP_AGAIN_MS: number = 60_000;
/** How long an idempotency key is remembered. */
export const KEY_LIFE_MS: number = 48 * HOUR_MS;
/** How far the time of an event may be before and after its receipt, with a margin for slow requests. */
export const MAX_EVENT_AGE_MS: number = 49 * HOUR_MS;
export const MAX_EVENT_AHEAD_MS: number = HOUR_MS;
/**
 * How much longer than `eventDays` the row of a subject is kept. Its time of last use is exact to a day, events are reported
 * up to 48 hours late, and exposures up to 24.
 */
export const SUBJECT_SLACK_MS: number = 96 * HOUR_MS;
/** A later use of a subject is stored if it is later by this time. */
export const SUBJECT_STEP_MS: number = 24 * HOUR_MS;
/** How much earlier than its outbox entry an event may have been received. */
export const OUTBOX_MARGIN_MS: number = HOUR_MS;
export const MAX_QUEUED_EVENTS: number = 10_000;
