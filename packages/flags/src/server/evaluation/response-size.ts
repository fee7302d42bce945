/** The limit of a response with many flags. It is checked while the flags are evaluated, before a large text is built. */
import type { Evaluation } from "../../engine/definition.ts";
import type { FeatureFlagError } from "../../model/errors.ts";
import type { EvaluationField, EvaluationMetadata, EvaluationSelect } from "../../model/evaluation.ts";
import { exceedsJsonBytes, jsonBytes, overLimit } from "../../model/inputs.ts";

const MAX_RESPONSE_BYTES: number = 4 * 1024 * 1024;

/** Bytes of JSON for one UTF-16 code unit, at most: an escape sequence. */
const MAX_UNIT_BYTES = 6;
/** Bytes of a result beside its key, value, variant and metadata: names, quotes and the reason. */
const MAX_OTHER_BYTES = 100;
/** Bytes of the context and of everything else that a response has once. */
const MAX_FRAME_BYTES = 64 * 1024;

interface Sizes {
  readonly value: number;
  readonly variantMetadata: number;
}

/** Evaluations are shared by all requests, apart from those of overrides. */
const known = new WeakMap<Evaluation, Sizes>();

export class ResponseSize {
  readonly #hasValue: boolean;
  readonly #hasMetadata: boolean;
  /** Bytes of the metadata that all results have. */
  readonly #metadata: number;
  /** Bytes that the response has at least. */
  #least = 0;
  /** Bytes that the response has at most. */
  #most = MAX_FRAME_BYTES;

  constructor(select: EvaluationSelect | undefined, metadata: EvaluationMetadata) {
    this.#hasValue = select === "value" || selects(select, "value");
    this.#hasMetadata = selects(select, "metadata");
    this.#metadata = this.#hasMetadata ? jsonBytes(metadata) : 0;
  }

  /** Adds a flag. Throws once the response is certainly too large. */
  add(key: string, evaluation: Evaluation, trace: object | undefined): void {
    const { value, variantMetadata } = sizesOf(evaluation);
    const ofTrace = trace === undefined ? 0 : jsonBytes(trace);
    const bytes = (this.#hasValue ? value : 0) + (this.#hasMetadata ? variantMetadata + ofTrace : 0);
    const names = (key.length + (evaluation.variant?.length ?? 0)) * MAX_UNIT_BYTES;
    this.#least += bytes;
    this.#most += bytes + names + this.#metadata + MAX_OTHER_BYTES;
    if (this.#least > MAX_RESPONSE_BYTES) throw tooLarge();
  }

  /** Adds the flag's exposure token, if it has one. */
  addToken(key: string, token: string | undefined): void {
    if (token === undefined) return;
    this.#least += token.length;
    this.#most += token.length + key.length * MAX_UNIT_BYTES + MAX_OTHER_BYTES;
    if (this.#least > MAX_RESPONSE_BYTES) throw tooLarge();
  }

  /** Throws if the finished result is too large. Most results are too small to need counting. */
  check(result: object): void {
    if (this.#most > MAX_RESPONSE_BYTES && exceedsJsonBytes(result, MAX_RESPONSE_BYTES)) throw tooLarge();
  }
}

function selects(select: EvaluationSelect = "full", field: EvaluationField): boolean {
  return select === "full" || (select !== "value" && select.includes(field));
}

/** Throws if the text of a response, which may not be complete yet, is too large. */
export function requireSize(text: string): void {
  if (text.length > MAX_RESPONSE_BYTES) throw tooLarge();
}

/** The same for a complete text, in bytes. */
export function requireBytes(text: string): void {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= MAX_RESPONSE_BYTES) return;
  if (new TextEncoder().encode(text).length > MAX_RESPONSE_BYTES) throw tooLarge();
}

function sizesOf(evaluation: Evaluation): Sizes {
  let sizes = known.get(evaluation);
  if (sizes === undefined) {
    const { value, variantMetadata } = evaluation;
    sizes = { value: jsonBytes(value), variantMetadata: variantMetadata ? jsonBytes(variantMetadata) : 0 };
    known.set(evaluation, sizes);
  }
  return sizes;
}

function tooLarge(): FeatureFlagError {
  return overLimit(
    "The response has too many bytes.",
    MAX_RESPONSE_BYTES,
    "Request fewer flags at once: name them with include, or use prefix.",
  );
}
