/** Analytics events: request bodies, responses, and the stored form. */
import type { JsonObject } from "../engine/json.ts";
import type { ClaimedContext } from "./evaluation.ts";

/** An event as callers send it. */
export type FeatureFlagEventInput = {
  flagKey: string;
  event: string;
  /** Stored as the event's value. */
  value?: number | undefined;
  /** A number is stored as the event's value. The server rejects a number together with `value`. */
  properties?: number | JsonObject | undefined;
  /** RFC 3339. At most 48 hours old, at most 5 minutes ahead. Defaults to the time of receipt. */
  timestamp?: string | undefined;
  /** The share of such events that the server keeps, 0 to 1. Statistics divide by it. */
  sampleRate?: number | undefined;
  /** The context of the event, as in an evaluation. */
  context?: ClaimedContext | undefined;
  /** Recorded once in 48 hours. For a single event, the header `Idempotency-Key` takes precedence. */
  idempotencyKey?: string | undefined;
};

/** An event of a batch. */
export type FeatureFlagBatchEventInput = FeatureFlagEventInput;

export type FeatureFlagEventBatchInput = {
  events: FeatureFlagBatchEventInput[];
  /** The default for events without their own. */
  sampleRate?: number | undefined;
  idempotencyKey?: string | undefined;
};

export type FeatureFlagEventResult = { success: boolean; eventId: string };

export type FeatureFlagEventBatchResult = { success: number; failed: number; batchId: string };

/** An event as it is stored and as sinks receive it. */
export type StoredFlagEvent = {
  readonly id: string;
  readonly flagKey: string;
  readonly event: string;
  readonly value?: number;
  readonly properties?: JsonObject;
  readonly userId?: string;
  readonly organizationId?: string;
  /** The variant that the flag had for the user at the time of receipt. */
  readonly variant?: string;
  /** ISO 8601. */
  readonly at: string;
  readonly receivedAt: string;
  readonly sampleRate: number;
  readonly idempotencyKey?: string;
};
