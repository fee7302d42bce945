/** The limit of a response with many flags, in bytes as JSON. */
import type { FeatureFlagError } from "../../model/errors.ts";
import type { EvaluationFields } from "../../model/evaluation.ts";
import { exceedsJsonBytes, overLimit } from "../../model/inputs.ts";

const MAX_RESPONSE_BYTES: number = 4 * 1024 * 1024;

/** Throws if a response with this many characters as JSON, which may not be complete yet, is too large. */
export function requireSize(characters: number): void {
  if (characters > MAX_RESPONSE_BYTES) throw tooLarge();
}

/** Throws if the complete text has too many bytes. */
export function requireBytes(text: string): void {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= MAX_RESPONSE_BYTES) return;
  if (new TextEncoder().encode(text).length > MAX_RESPONSE_BYTES) throw tooLarge();
}

/** Throws if the complete result has too many bytes as JSON. */
export function requireResult(result: object): void {
  if (exceedsJsonBytes(result, MAX_RESPONSE_BYTES)) throw tooLarge();
}

/** Characters that the parts of a result without a bound of their own have at least. */
export function leastSize({ value, metadata }: Partial<EvaluationFields>): number {
  const trace = metadata?.trace === undefined ? 0 : JSON.stringify(metadata.trace).length;
  if (typeof value === "string") return value.length + trace;
  return typeof value === "object" ? JSON.stringify(value).length + trace : trace;
}

function tooLarge(): FeatureFlagError {
  return overLimit(
    "The response has too many bytes.",
    MAX_RESPONSE_BYTES,
    "Request fewer flags at once: name them with include, or use prefix.",
  );
}
