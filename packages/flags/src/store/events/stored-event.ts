/** Reads a stored event from its row. */
import type { StoredFlagEvent } from "../../model/event.ts";

/** The columns of an event as text. Null if the event lacks the field. */
export interface StoredEventTexts {
  readonly eventId: string;
  readonly flagKey: string | null;
  readonly event: string;
  /** JSON. */
  readonly value: string | null;
  /** JSON. */
  readonly properties: string | null;
  readonly userId: string | null;
  readonly anonymousId: string | null;
  readonly organizationId: string | null;
  readonly variant: string | null;
  readonly environment: string;
  readonly at: string;
  readonly receivedAt: string;
  /** JSON. */
  readonly sampleRate: string;
  readonly idempotencyKey: string | null;
}

export function storedEventOf(row: StoredEventTexts): StoredFlagEvent {
  const { eventId, event, value, properties, environment, at, receivedAt, sampleRate } = row;
  const { flagKey, userId, anonymousId, organizationId, variant, idempotencyKey } = row;
  return {
    id: eventId,
    ...(flagKey !== null && { flagKey }),
    event,
    at,
    receivedAt,
    sampleRate: JSON.parse(sampleRate),
    ...(value !== null && { value: JSON.parse(value) }),
    ...(properties !== null && { properties: JSON.parse(properties) }),
    ...(userId !== null && { userId }),
    ...(anonymousId !== null && { anonymousId }),
    ...(organizationId !== null && { organizationId }),
    ...(variant !== null && { variant }),
    ...(environment !== "" && { environment }),
    ...(idempotencyKey !== null && { idempotencyKey }),
  };
}
