/** What the bodies of all requests have in common: the pieces they are made of, and the errors for the others. */
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

/** What one column of text holds on every database, in characters. */
export const MAX_LINE: number = 255;

/** As much of the caller's own names as an error shows, in characters. */
const MAX_ECHO = 200;

/** Text that every database gives back as it was: PostgreSQL refuses NUL, and half a surrogate pair is not UTF-8. */
const WELL_FORMED = /^[^\0\p{Surrogate}]*$/u;

export function isWellFormed(value: string): boolean {
  return WELL_FORMED.test(value);
}

/** The text as every database can hold it. */
export function storableText(value: string): string {
  return isWellFormed(value) ? value : value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD");
}

export const text: z.ZodType<string> = z
  .string()
  .regex(WELL_FORMED, "must be well-formed Unicode without NUL");

/** Text that is looked up, sorted by, or shown in a line. */
export const line: z.ZodType<string> = z
  .string()
  .max(MAX_LINE)
  .regex(WELL_FORMED, "must be well-formed Unicode without NUL");

/** A line that says something. */
export const name: z.ZodType<string> = z
  .string()
  .min(1)
  .max(MAX_LINE)
  .regex(WELL_FORMED, "must be well-formed Unicode without NUL");

export const key: z.ZodType<string> = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, "must be 1–128 characters of A-Z, a-z, 0-9, _ and -");

const NOT_JSON = `must be JSON, at most ${MAX_JSON_DEPTH} levels deep`;
export const json: z.ZodType<JsonValue> = z.custom<JsonValue>((value) => isJsonValue(value), NOT_JSON);
export const jsonObject: z.ZodType<JsonObject> = z.custom<JsonObject>(
  (value) => isPlainObject(value) && isJsonValue(value),
  `must be an object; it ${NOT_JSON}`,
);

/** A whole number of percent. */
export const wholePercentage: z.ZodType<number> = z.number().int().min(0).max(100);
export const percentage: z.ZodType<number> = z.number().min(0).max(100);

export const NOT_TIME: string = "must be a time as ISO 8601, such as 2030-01-31T12:00:00Z";

/**
 * A time as ISO 8601, given back in UTC. Times are stored and compared as text, in which only the years 0000–9999 have
 * four digits; the offset of a time can bring it outside of them.
 */
export function utcTime(value: string): string | undefined {
  const ms = parseIsoDate(value);
  const utc = ms === undefined ? "" : new Date(ms).toISOString();
  return /^\d{4}-/.test(utc) ? utc : undefined;
}

export const isoTime: z.ZodType<string, unknown> = z.unknown().transform((value, check) => {
  const utc = typeof value === "string" ? utcTime(value) : undefined;
  if (utc !== undefined) return utc;
  check.addIssue(NOT_TIME);
  return z.NEVER;
});

/** Only that it is an object: what is in it is judged against the engine's own rules, by `checkedConditions`. */
export const conditions: z.ZodType<RuleConditions> = z.custom<RuleConditions>(
  (value) => isPlainObject(value) && isJsonValue(value),
  `must be a group of conditions; it ${NOT_JSON}`,
);

/** The body if it fits the schema. */
export function parse<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw invalid(
    result.error.issues.map(({ path, message }) => ({ path: path.join("."), message: cut(message) })),
  );
}

/** The error for a request that does not say what it should; `path` is where, empty for the request as a whole. */
export function invalid(issues: readonly { path: string; message: string }[]): FeatureFlagError {
  const shown = issues.slice(0, 20).map(({ path, message }) => ({ path: cut(path), message }));
  const reasons = shown.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return new FeatureFlagError("VALIDATION_ERROR", `The request is not valid. ${reasons.join("; ")}`, {
    details: { issues: shown },
  });
}

/** What the caller made up, such as an unknown key, is echoed as far as it helps to find it. */
function cut(text: string): string {
  if (text.length <= MAX_ECHO) return text;
  // By code points: half a surrogate pair is no text.
  return `${[...text.slice(0, MAX_ECHO)].slice(0, -1).join("")}…`;
}

/** The error for a request that asks for more than the service gives. */
export function overLimit(what: string, limit: number, advice: string): FeatureFlagError {
  return new FeatureFlagError("VALIDATION_ERROR", `${what} The limit is ${limit}. ${advice}`, {
    details: { limit },
  });
}

/** How large a value is as JSON text in UTF-8; infinite when it cannot be written as JSON. */
export function jsonBytes(value: unknown): number {
  try {
    return new TextEncoder().encode(JSON.stringify(value) ?? "").length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
