/**
 * Accepts common request bodies with a few comparisons, which take less time than their schema. Every other body goes
 * to the schema, which also writes the error. Bodies come from `JSON.parse`.
 */
import { isPlainObject } from "../../engine/json.ts";
import type {
  BootstrapFeatureFlagsInput,
  ClaimedContext,
  EvaluateFeatureFlagInput,
} from "../../model/evaluation.ts";
import { parseBootstrapInput, parseEvaluateInput } from "../../model/evaluation-input.ts";
import { MAX_LINE } from "../../model/inputs.ts";

type Body = Readonly<Record<string, unknown>>;

/** Length of a body in which no context can exceed its limit, although a number may grow when it is written again. */
const MAX_QUICK_LENGTH = 2000;

const TEXT_FIELDS: ReadonlySet<string> = new Set(["userId", "email", "role", "anonymousId"]);

/** `length` is that of the body's text. */
export function readEvaluateInput(body: unknown, length: number): EvaluateFeatureFlagInput {
  if (isPlainObject(body) && length <= MAX_QUICK_LENGTH && hasCommonFields(body)) {
    const isCommon = typeof body["flagKey"] === "string" && isScalar(body["default"]);
    if (isCommon && isOptionalBoolean(body["contextInResponse"])) return body as EvaluateFeatureFlagInput;
  }
  return parseEvaluateInput(body);
}

/** `length` is that of the body's text. */
export function readBootstrapInput(body: unknown, length: number): BootstrapFeatureFlagsInput {
  if (isPlainObject(body) && length <= MAX_QUICK_LENGTH && hasCommonFields(body)) {
    const { prefix, include, includeDisabled, position } = body;
    const isAll = include === undefined && position === undefined;
    const isCommon = isAll && (prefix === undefined || typeof prefix === "string");
    if (isCommon && isOptionalBoolean(includeDisabled)) return body;
  }
  return parseBootstrapInput(body);
}

function hasCommonFields(body: Body): boolean {
  const { select, environment, context } = body;
  if (select !== undefined && select !== "full" && select !== "value") return false;
  if (environment !== undefined && !(typeof environment === "string" && environment.length <= MAX_LINE)) {
    return false;
  }
  const { track, exposures, debug } = body;
  if (!isOptionalBoolean(track) || !isOptionalBoolean(exposures) || !isOptionalBoolean(debug)) return false;
  return isCommonContext(context);
}

function isCommonContext(context: unknown): context is ClaimedContext | undefined {
  if (context === undefined) return true;
  if (!isPlainObject(context)) return false;
  for (const name in context) {
    const value = context[name];
    const isCommon =
      name === "attributes" ? isFlat(value) : TEXT_FIELDS.has(name) && typeof value === "string";
    if (!isCommon) return false;
  }
  return true;
}

function isFlat(attributes: unknown): boolean {
  if (!isPlainObject(attributes)) return false;
  for (const name in attributes) if (!isScalar(attributes[name])) return false;
  return true;
}

/** `JSON.parse` returns infinity for a number that is too large. */
function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value !== "object";
}

function isOptionalBoolean(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}
