/** The bodies that bring events. Unknown keys are ignored, so that a newer client can talk to an older server. */
import * as z from "zod";
import { isPlainObject, type JsonObject } from "../engine/json.ts";
import type { ClaimedContext } from "./evaluation.ts";
import { claimedContext, withinContext } from "./evaluation-input.ts";
import { invalid, isoTime, jsonBytes, jsonObject, name, overLimit, parse } from "./inputs.ts";

const MAX_EVENTS = 1000;
const MAX_PROPERTIES_BYTES = 16 * 1024;
const MAX_AGE_MS = 48 * 60 * 60 * 1000;
const MAX_AHEAD_MS = 5 * 60 * 1000;

/** Not the pattern of a flag's key: an event may be about a flag of another system. As long as one, for the index. */
const flagKey = name.refine((value) => value.length <= 128, "must have at most 128 characters");
const sampleRate = z.number().min(0).max(1);

const fields = {
  flagKey,
  event: name,
  value: z.number().optional(),
  properties: z.union([z.number(), jsonObject], "must be a number or an object").optional(),
  timestamp: isoTime.optional(),
  sampleRate: sampleRate.optional(),
  context: claimedContext.optional(),
};

const single = z.object(fields);
const item = z.object({ ...fields, idempotencyKey: name.optional() });
/** A batch whose events have not been looked at yet. */
export interface EventBatchInput {
  readonly events: readonly unknown[];
  readonly sampleRate?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

const batch: z.ZodType<EventBatchInput> = z.object({
  events: z.array(z.unknown()).min(1),
  sampleRate: sampleRate.optional(),
  idempotencyKey: name.optional(),
});

/** A checked event. */
export interface EventInput {
  readonly flagKey: string;
  readonly event: string;
  readonly value?: number;
  readonly properties?: JsonObject;
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly sampleRate?: number;
  readonly context?: ClaimedContext;
  readonly idempotencyKey?: string;
}

/** `nowMs`: the time of receipt. */
export function parseEventInput(body: unknown, nowMs: number): EventInput {
  return checked(parse(single, body), nowMs);
}

export function parseBatchEventInput(body: unknown, nowMs: number): EventInput {
  return checked(parse(item, body), nowMs);
}

/** The batch, with its events as they came: one that is wrong fails by itself. */
export function parseEventBatchInput(body: unknown): EventBatchInput {
  if (isPlainObject(body) && Array.isArray(body["events"]) && body["events"].length > MAX_EVENTS) {
    throw overLimit("events has too many events.", MAX_EVENTS, "Send the rest in another call.");
  }
  return parse(batch, body);
}

/** The header's value; null for none. */
export function parseIdempotencyKey(header: string | null): string | undefined {
  if (header === null) return undefined;
  const result = name.safeParse(header);
  if (result.success) return result.data;
  throw invalid([{ path: "Idempotency-Key", message: "must have 1–255 characters, without NUL" }]);
}

function checked(given: z.output<typeof item>, nowMs: number): EventInput {
  const { flagKey, event, value, properties, sampleRate, context, idempotencyKey } = withinContext(given);
  if (value !== undefined && typeof properties === "number") {
    throw invalid([{ path: "properties", message: "is a number, and so is value; give one of them" }]);
  }
  if (typeof properties === "object" && jsonBytes(properties) > MAX_PROPERTIES_BYTES) {
    const what = "The properties are too large as JSON, in bytes.";
    throw overLimit(what, MAX_PROPERTIES_BYTES, "Send only what is counted.");
  }
  const number = typeof properties === "number" ? properties : value;
  return {
    flagKey,
    event,
    at: timeOf(given.timestamp, nowMs),
    ...(number !== undefined && { value: number }),
    ...(typeof properties === "object" && { properties }),
    ...(sampleRate !== undefined && { sampleRate }),
    ...(context !== undefined && { context }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

function timeOf(timestamp: string | undefined, nowMs: number): string {
  if (timestamp === undefined) return new Date(nowMs).toISOString();
  const age = nowMs - Date.parse(timestamp);
  if (age <= MAX_AGE_MS && age >= -MAX_AHEAD_MS) return timestamp;
  throw invalid([{ path: "timestamp", message: "must be at most 48 hours old and at most 5 minutes ahead" }]);
}
