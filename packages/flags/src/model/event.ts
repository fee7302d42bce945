/** Analytics events: request bodies, responses, and the stored form. */
import type { JsonObject } from "../engine/json.ts";
import type { ClaimedContext } from "./evaluation.ts";

/** An event as callers send it. */
export type FeatureFlagEventInput = {
  /** The key of the flag. Anonymous callers need it. Without one, the event counts in no flag's statistics. */
  flagKey?: string | undefined;
  /** The name of the event, such as `bought`. */
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
  /** The environment of the event, as in an evaluation. The header `x-deployment-ring` takes precedence. */
  environment?: string | undefined;
  /** Recorded once in 48 hours. For a single event, the header `Idempotency-Key` takes precedence. */
  idempotencyKey?: string | undefined;
};

/** An event of a batch. */
export type FeatureFlagBatchEventInput = FeatureFlagEventInput;

/** The body of a batch of events. */
export type FeatureFlagEventBatchInput = {
  /** At most 1,000. */
  events: FeatureFlagBatchEventInput[];
  /** The default for events without their own. */
  sampleRate?: number | undefined;
  /** The batch is recorded once in 48 hours. */
  idempotencyKey?: string | undefined;
};

/** The response to an event. */
export type FeatureFlagEventResult = { success: boolean; eventId: string };

/** The response to a batch of events. */
export type FeatureFlagEventBatchResult = { success: number; failed: number; batchId: string };

/** An event as it is stored and as sinks receive it. */
export type StoredFlagEvent = {
  /** UUID v7. */
  readonly id: string;
  /** The key of the flag. Absent if the event is about no flag. */
  readonly flagKey?: string;
  /** The name of the event. */
  readonly event: string;
  /** The number that the event counts, such as a price. */
  readonly value?: number;
  /** Free data of the event. */
  readonly properties?: JsonObject;
  /** The user of the event. */
  readonly userId?: string;
  /** The visitor who was not signed in. */
  readonly anonymousId?: string;
  /** The organization of the user. */
  readonly organizationId?: string;
  /** The variant that the flag had for the user at the time of receipt. */
  readonly variant?: string;
  /** The environment in which it happened. */
  readonly environment?: string;
  /** ISO 8601. */
  readonly at: string;
  /** When the server received it. ISO 8601. */
  readonly receivedAt: string;
  /** The share of such events that the server keeps, 0 to 1. */
  readonly sampleRate: number;
  /** The key with which it was sent. */
  readonly idempotencyKey?: string;
};
