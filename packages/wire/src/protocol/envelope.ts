/** The frame on the wire: `{"type","meta","payload"?}` as JSON text. Payloads are checked later, by their schema. */
import { keepTerms, readTerms } from "./call-terms.ts";
import { isObject } from "./checks.ts";
import { isReservedMetaKey, isReservedType, isStandardMetaKey } from "./control.ts";

export interface Meta {
  timestamp?: number;
  correlationId?: string;
  timeoutMs?: number;
  [custom: string]: unknown;
}

/** A decoded frame whose payload and meta have not been checked by a schema. */
export interface Envelope {
  readonly problem: undefined;
  readonly type: string;
  readonly meta: Meta;
  readonly payload: unknown;
  /** Whether meta has keys that the schema must declare. */
  readonly hasCustom: boolean;
}

/** A frame that is not an envelope; with its type and correlation id, if they could be read. */
export interface Unreadable {
  readonly problem: string;
  readonly type: string | undefined;
  readonly correlationId: string | undefined;
}

const MAX_CORRELATION_ID_LENGTH = 128;
const MAX_FRAME_DEPTH = 32;

export function encode(type: string, meta: Meta, payload: unknown): string {
  return JSON.stringify({ type, meta, payload });
}

/** Whether text from another process is an application frame, as `encode` writes it. */
export function isApplicationFrame(frame: string): boolean {
  try {
    const root: unknown = JSON.parse(frame);
    return (
      isObject(root) &&
      typeof root["type"] === "string" &&
      !isReservedType(root["type"]) &&
      isObject(root["meta"])
    );
  } catch {
    return false;
  }
}

/** Decodes one frame and removes reserved meta keys. */
export function decode(frame: string): Envelope | Unreadable {
  const envelope = parse(frame);
  if (envelope.problem !== undefined) return envelope;
  const { type, meta, payload, hasCustom } = envelope;
  if (!nestsDeeper(payload, MAX_FRAME_DEPTH - 1) && !(hasCustom && nestsDeeper(meta, MAX_FRAME_DEPTH - 1)))
    return envelope;
  return unreadable(`The frame nests deeper than ${MAX_FRAME_DEPTH} levels.`, type, meta.correlationId);
}

/** `decode` without the depth limit. */
function parse(frame: string): Envelope | Unreadable {
  let root: unknown;
  try {
    root = JSON.parse(frame);
  } catch {
    return unreadable("The frame is not JSON text.");
  }
  if (!isObject(root)) return unreadable("The frame is not a JSON object.");
  const { type, meta = {}, payload } = root;
  if (!isObject(meta)) return unreadable('"meta" is not an object.', type);
  const problem = problemOf(root) ?? problemOfMeta(meta);
  if (problem !== undefined) return unreadable(problem, type, meta["correlationId"]);
  const isPlain = isStandard(meta);
  // Reserved keys are removed: an application cannot read them, and their values are not checked by its schema.
  const terms = isPlain ? undefined : readTerms(meta);
  const hasCustom = !isPlain && tidyMeta(meta);
  if (terms !== undefined) keepTerms(meta, terms);
  return { problem: undefined, type: type as string, meta, payload, hasCustom };
}

function problemOf(root: Record<string, unknown>): string | undefined {
  if (typeof root["type"] !== "string" || root["type"] === "") return '"type" is not a non-empty string.';
  const expectedKeys = 1 + presence(root["meta"]) + presence(root["payload"]);
  return countKeys(root) === expectedKeys ? undefined : "The frame has an unknown key.";
}

/** Describes what is wrong with the standard meta keys; undefined when they are valid. */
function problemOfMeta(meta: Record<string, unknown>): string | undefined {
  const key = invalidMetaKey(meta);
  if (key === undefined) return undefined;
  return key === "correlationId"
    ? `"meta.correlationId" is not a string of 1 to ${MAX_CORRELATION_ID_LENGTH} characters.`
    : `"meta.${key}" is not a finite number.`;
}

/** The first standard meta key with an invalid value. */
function invalidMetaKey({
  correlationId,
  timeoutMs,
  timestamp,
}: Record<string, unknown>): "correlationId" | "timeoutMs" | "timestamp" | undefined {
  if (correlationId !== undefined && !isCorrelationId(correlationId)) return "correlationId";
  if (timeoutMs !== undefined && !Number.isFinite(timeoutMs)) return "timeoutMs";
  return timestamp !== undefined && !Number.isFinite(timestamp) ? "timestamp" : undefined;
}

/** Removes reserved keys; returns whether keys are left that the schema must declare. */
export function tidyMeta(meta: Record<string, unknown>): boolean {
  let hasCustom = false;
  for (const key in meta) {
    if (isStandardMetaKey(key)) continue;
    if (isReservedMetaKey(key)) delete meta[key];
    else hasCustom = true;
  }
  return hasCustom;
}

/** Whether meta has only standard keys, the usual case. Counts keys, which is cheaper than comparing names. */
function isStandard(meta: Record<string, unknown>): boolean {
  const { correlationId, timestamp, timeoutMs } = meta;
  return countKeys(meta) === presence(correlationId) + presence(timestamp) + presence(timeoutMs);
}

/** Counts without the array that `Object.keys` would allocate for every frame. */
function countKeys(object: object): number {
  let count = 0;
  for (const _key in object) count++;
  return count;
}

/** 1 when the key is present: JSON has no undefined. */
function presence(value: unknown): 0 | 1 {
  return value === undefined ? 0 : 1;
}

/** Whether the value has more nested levels than `levels`. */
function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && nestsDeeper(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === "object" && nestsDeeper(item, levels - 1)) return true;
  }
  return false;
}

function unreadable(problem: string, type?: unknown, correlationId?: unknown): Unreadable {
  return {
    problem,
    type: typeof type === "string" ? type : undefined,
    correlationId: isCorrelationId(correlationId) ? correlationId : undefined,
  };
}

export function isCorrelationId(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_CORRELATION_ID_LENGTH;
}
