/**
 * The usual bodies, told by a few comparisons instead of a schema. Only what the schema would take as it is: for all
 * else the schema decides, and says what is wrong. Bodies are what `JSON.parse` has given.
 */
import type {
  BootstrapFeatureFlagsInput,
  ClaimedContext,
  EvaluateFeatureFlagInput,
} from "../../model/evaluation.ts";
import { parseBootstrapInput, parseEvaluateInput } from "../../model/evaluation-input.ts";
import { MAX_LINE } from "../../model/inputs.ts";

type Body = Readonly<Record<string, unknown>>;

/** In a text as short as this, no context can be too large. Written anew, a number may take a few times its length. */
const SHORT = 2000;

const TEXTS: ReadonlySet<string> = new Set(["userId", "email", "role", "anonymousId"]);

export function readEvaluateInput(body: unknown, length: number): EvaluateFeatureFlagInput {
  if (isObject(body) && length <= SHORT && hasUsualFields(body) && isTextOf(body, "flagKey")) {
    if (isScalar(body["default"]) && isBooleanOf(body, "contextInResponse")) {
      return body as EvaluateFeatureFlagInput;
    }
  }
  return parseEvaluateInput(body);
}

export function readBootstrapInput(body: unknown, length: number): BootstrapFeatureFlagsInput {
  if (isObject(body) && length <= SHORT && hasUsualFields(body) && body["include"] === undefined) {
    const isUsual = body["prefix"] === undefined || isTextOf(body, "prefix");
    if (isUsual && isBooleanOf(body, "includeDisabled")) return body;
  }
  return parseBootstrapInput(body);
}

function hasUsualFields(body: Body): boolean {
  const { select, environment, context } = body;
  if (select !== undefined && select !== "full" && select !== "value") return false;
  if (environment !== undefined && !(typeof environment === "string" && environment.length <= MAX_LINE)) {
    return false;
  }
  return isBooleanOf(body, "track") && isBooleanOf(body, "debug") && isUsualContext(context);
}

function isUsualContext(context: unknown): context is ClaimedContext | undefined {
  if (context === undefined) return true;
  if (!isObject(context)) return false;
  for (const name in context) {
    const value = context[name];
    const isUsual = name === "attributes" ? isFlat(value) : TEXTS.has(name) && typeof value === "string";
    if (!isUsual) return false;
  }
  return true;
}

function isFlat(attributes: unknown): boolean {
  if (!isObject(attributes)) return false;
  for (const name in attributes) if (!isScalar(attributes[name])) return false;
  return true;
}

/** JSON has no other numbers than finite ones, but `JSON.parse` gives them for what is too large. */
function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value !== "object";
}

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTextOf(body: Body, name: string): boolean {
  return typeof body[name] === "string";
}

function isBooleanOf(body: Body, name: string): boolean {
  const value = body[name];
  return value === undefined || typeof value === "boolean";
}
