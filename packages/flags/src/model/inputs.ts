/** The schemas and validation errors that all request bodies share. */
import * as z from "zod";
import type { RuleConditions } from "../engine/definition.ts";
import { parseIsoDate } from "../engine/iso-date.ts";
import {
  isJsonValue,
  isPlainObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
} from "../engine/json.ts";
import { FeatureFlagError } from "./errors.ts";

/** The length of an indexed text column on every database, in characters. */
export const MAX_LINE: number = 255;

/** The maximum length of text from the request that an error repeats, in characters. */
const MAX_ECHO = 200;

/** Text that every database stores unchanged: PostgreSQL rejects NUL, and a lone surrogate is not valid UTF-8. */
const WELL_FORMED = /^[^\0\p{Surrogate}]*$/u;

export function isWellFormed(value: string): boolean {
  return WELL_FORMED.test(value);
}

/** The text with U+FFFD in place of characters that a database may reject. */
export function storableText(value: string): string {
  return isWellFormed(value) ? value : value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD");
}

export const text: z.ZodType<string> = z
  .string()
  .regex(WELL_FORMED, "must be well-formed Unicode without NUL");

/** Text for an indexed or sorted column. */
export const line: z.ZodType<string> = z
  .string()
  .max(MAX_LINE)
  .regex(WELL_FORMED, "must be well-formed Unicode without NUL");

/** A line that is not empty. */
export const name: z.ZodType<string> = z
  .string()
  .min(1)
  .max(MAX_LINE)
  .regex(WELL_FORMED, "must be well-formed Unicode without NUL");

const KEY = /^[A-Za-z0-9_-]{1,128}$/;

export const key: z.ZodType<string> = z
  .string()
  .regex(KEY, "must be 1–128 characters of A-Z, a-z, 0-9, _ and -");

/** Whether a flag or segment could have the key. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether the text has the form of this plugin's ids. */
export function isId(text: string): boolean {
  return ID.test(text);
}

const NOT_JSON = `must be JSON, at most ${MAX_JSON_DEPTH} levels deep`;
// `meta` is for OpenAPI: a custom check has no JSON Schema of its own.
export const json: z.ZodType<JsonValue> = z
  .custom<JsonValue>((value) => isJsonValue(value), NOT_JSON)
  .meta({ description: "Any JSON value" });
export const jsonObject: z.ZodType<JsonObject> = z
  .custom<JsonObject>(
    (value) => isPlainObject(value) && isJsonValue(value),
    `must be an object; it ${NOT_JSON}`,
  )
  .meta({ type: "object" });

/** A whole number from 0 to 100. */
export const wholePercentage: z.ZodType<number> = z
  .number()
  .refine(Number.isInteger, {
    error: ({ input }) =>
      `must be a whole number from 0 to 100, not ${String(input)}; round it, or use a rule: a rule's percentage takes fractions`,
  })
  .min(0)
  .max(100)
  .meta({ multipleOf: 1 });
export const percentage: z.ZodType<number> = z.number().min(0).max(100);

export const NOT_TIME: string = "must be a time in ISO 8601, such as 2030-01-31T12:00:00Z";

/**
 * Converts a time in ISO 8601, or in RFC 3339 with lower case letters or a space, to UTC. Times are stored and compared as
 * text, which requires four-digit years; an offset can move a time outside the years 0000–9999.
 */
export function utcTime(value: string): string | undefined {
  const ms = parseIsoDate(value.replace(/^(.{10})[ t]/, "$1T").replace(/z$/, "Z"));
  const utc = ms === undefined ? "" : new Date(ms).toISOString();
  return /^\d{4}-/.test(utc) ? utc : undefined;
}

export const isoTime: z.ZodType<string, unknown> = z
  .unknown()
  .transform((value, check) => {
    const utc = typeof value === "string" ? utcTime(value) : undefined;
    if (utc !== undefined) return utc;
    check.addIssue(NOT_TIME);
    return z.NEVER;
  })
  .meta({ type: "string", format: "date-time" });

/** Checks only that it is a JSON object. `checkedConditions` validates the contents. */
export const conditions: z.ZodType<RuleConditions> = z
  .custom<RuleConditions>((value) => isPlainObject(value) && isJsonValue(value), {
    error: ({ input }) =>
      Array.isArray(input)
        ? 'must be a group of conditions, not a list; wrap the list: { "operator": "AND", "conditions": […] }'
        : `must be a group of conditions, such as { "conditions": […] }; it ${NOT_JSON}`,
  })
  .meta({ type: "object" });

/** Returns the parsed body, or throws `VALIDATION_ERROR`. */
export function parse<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw invalid(
    result.error.issues.map(({ path, message }) => ({ path: path.join("."), message: cut(message) })),
  );
}

/** The error for an invalid request. `path` is the path of the invalid field, empty for the whole request. */
export function invalid(issues: readonly { path: string; message: string }[]): FeatureFlagError {
  const shown = issues.slice(0, 20).map(({ path, message }) => ({ path: cut(path), message }));
  const reasons = shown.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return new FeatureFlagError("VALIDATION_ERROR", `The request is not valid. ${reasons.join("; ")}`, {
    details: { issues: shown },
  });
}

/** Shortens text from the request, such as an unknown key. */
function cut(text: string): string {
  if (text.length <= MAX_ECHO) return text;
  // By code points, so that no surrogate pair is split.
  return `${[...text.slice(0, MAX_ECHO)].slice(0, -1).join("")}…`;
}

/** The error for a request that exceeds a limit. */
export function overLimit(what: string, limit: number, advice: string): FeatureFlagError {
  return new FeatureFlagError("VALIDATION_ERROR", `${what} The limit is ${limit}. ${advice}`, {
    details: { limit },
  });
}

const encoder = new TextEncoder();

/** The size of a value as JSON in UTF-8 bytes; infinite when it cannot be serialised. */
export function jsonBytes(value: unknown): number {
  try {
    return encoder.encode(JSON.stringify(value) ?? "").length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Whether a value is larger than the limit as JSON in UTF-8 bytes. Most values are too short to need encoding. */
export function exceedsJsonBytes(value: unknown, limit: number): boolean {
  try {
    const { length } = JSON.stringify(value) ?? "";
    if (length * MAX_UTF8_BYTES <= limit) return false;
  } catch {
    return true;
  }
  return jsonBytes(value) > limit;
}

/** Bytes in UTF-8 of one UTF-16 code unit, at most. */
const MAX_UTF8_BYTES = 3;
