/** Request bodies of events. Unknown keys are ignored, so that a newer client works with an older server. */
import * as z from "zod";
import { isPlainObject, type JsonObject } from "../engine/json.ts";
import type { ClaimedContext } from "./evaluation.ts";
import { claimedContext, withinContext } from "./evaluation-input.ts";
import {
  invalid,
  isoTime,
  isWellFormed,
  jsonBytes,
  jsonObject,
  MAX_LINE,
  name,
  overLimit,
  parse,
} from "./inputs.ts";

const MAX_EVENTS = 1000;
const MAX_KEY = 128;
const MAX_PROPERTIES_BYTES = 16 * 1024;
const MAX_AGE_MS = 48 * 60 * 60 * 1000;
const MAX_AHEAD_MS = 5 * 60 * 1000;

/** Not the pattern of a flag's key, because an event may be about a flag of another system. The length fits the index. */
const flagKey = name.refine((value) => value.length <= MAX_KEY, `must have at most ${MAX_KEY} characters`);
const sampleRate = z.number().min(0).max(1);

const fields = {
  flagKey: flagKey.optional(),
  event: name,
  value: z.number().optional(),
  properties: z.union([z.number(), jsonObject], "must be a number or an object").optional(),
  timestamp: isoTime.optional(),
  sampleRate: sampleRate.optional(),
  context: claimedContext.optional(),
  environment: z.string().max(MAX_LINE).optional(),
  idempotencyKey: name.optional(),
};

const item = z.object(fields);
/** A batch whose events have not been validated yet. */
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

export const eventBody: z.ZodType = item;
/** The documented form of a batch. At run time each event is validated by itself. */
export const eventBatchBody: z.ZodType = z.object({
  events: z.array(item).min(1).max(MAX_EVENTS),
  sampleRate: sampleRate.optional(),
  idempotencyKey: name.optional(),
});

/** A validated event. */
export interface EventInput {
  readonly flagKey?: string;
  readonly event: string;
  readonly value?: number;
  readonly properties?: JsonObject;
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly sampleRate?: number;
  readonly context?: ClaimedContext;
  readonly environment?: string;
  readonly idempotencyKey?: string;
}

/** The time of receipt of a request, by the wall clock. */
export interface Receipt {
  readonly ms: number;
  /** The same as ISO 8601, in UTC. */
  readonly at: string;
}

let lastReceipt: Receipt = { ms: 0, at: new Date(0).toISOString() };

/** Cached, because under load many requests arrive in one millisecond and formatting it costs more than validation. */
export function receiptOf(ms: number): Receipt {
  if (ms !== lastReceipt.ms) lastReceipt = { ms, at: new Date(ms).toISOString() };
  return lastReceipt;
}

export function parseEventInput(body: unknown, receipt: Receipt): EventInput {
  return inputOf(isUsual(body) ? body : withinLimits(parse(item, body)), receipt);
}

/** Returns the batch with its events unvalidated, so that an invalid event does not fail the others. */
export function parseEventBatchInput(body: unknown): EventBatchInput {
  if (isPlainObject(body) && Array.isArray(body["events"]) && body["events"].length > MAX_EVENTS) {
    throw overLimit("The batch has too many events.", MAX_EVENTS, "Send the rest in another call.");
  }
  return parse(batch, body);
}

/** `header` is the value of the `Idempotency-Key` header, or null. */
export function parseIdempotencyKey(header: string | null): string | undefined {
  if (header === null) return undefined;
  const result = name.safeParse(header);
  if (result.success) return result.data;
  throw invalid([
    { path: "Idempotency-Key", message: "must have 1–255 characters of well-formed Unicode without NUL" },
  ]);
}

type Item = z.output<typeof item>;

/** A fast check for bodies that the schemas accept unchanged and that are within all limits. The schemas check the rest. */
function isUsual(body: unknown): body is Item {
  if (!isPlainObject(body) || body["timestamp"] !== undefined || body["context"] !== undefined) return false;
  const { flagKey, event, value, properties, sampleRate, environment, idempotencyKey } = body;
  if (flagKey !== undefined && (!isName(flagKey) || flagKey.length > MAX_KEY)) return false;
  if (environment !== undefined && !isName(environment)) return false;
  if (!isName(event)) return false;
  if (value !== undefined && !Number.isFinite(value)) return false;
  if (sampleRate !== undefined && !isShare(sampleRate)) return false;
  if (idempotencyKey !== undefined && !isName(idempotencyKey)) return false;
  return properties === undefined || Number.isFinite(properties) || isSmall(properties);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_LINE && isWellFormed(value);
}

function isShare(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}

/** Flat and certainly within the limit: a character takes at most 6 bytes as JSON, another scalar at most 30 characters. */
function isSmall(properties: unknown): boolean {
  if (!isPlainObject(properties)) return false;
  let characters = 0;
  for (const key in properties) {
    const value = properties[key];
    characters += key.length + 30;
    if (typeof value === "string") characters += value.length;
    else if (typeof value !== "boolean" && value !== null && !Number.isFinite(value)) return false;
  }
  return characters * 6 <= MAX_PROPERTIES_BYTES;
}

function withinLimits(given: Item): Item {
  const { properties } = withinContext(given);
  if (typeof properties === "object" && jsonBytes(properties) > MAX_PROPERTIES_BYTES) {
    const what = "The properties have too many bytes as JSON.";
    throw overLimit(what, MAX_PROPERTIES_BYTES, "Send fewer or shorter properties.");
  }
  return given;
}

function inputOf(given: Item, receipt: Receipt): EventInput {
  const { flagKey, event, value, properties, sampleRate, context, environment, idempotencyKey } = given;
  if (value !== undefined && typeof properties === "number") {
    throw invalid([
      { path: "properties", message: "is a number and value is set too; set only one of them" },
    ]);
  }
  const number = typeof properties === "number" ? properties : value;
  return {
    ...(flagKey !== undefined && { flagKey }),
    event,
    at: timeOf(given.timestamp, receipt),
    ...(number !== undefined && { value: number }),
    ...(typeof properties === "object" && { properties }),
    ...(sampleRate !== undefined && { sampleRate }),
    ...(context !== undefined && { context }),
    ...(environment !== undefined && { environment }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

function timeOf(timestamp: string | undefined, { ms, at }: Receipt): string {
  if (timestamp === undefined) return at;
  const age = ms - Date.parse(timestamp);
  if (age <= MAX_AGE_MS && age >= -MAX_AHEAD_MS) return timestamp;
  throw invalid([{ path: "timestamp", message: "must be at most 48 hours old and at most 5 minutes ahead" }]);
}
