/** The topic of a channel with its parameters: one spelling, so that two sets of equal parameters are one topic. */
import { isObject } from "../protocol/checks.ts";
import { WsError } from "../protocol/error.ts";
import { ignoreRejection } from "../router/pending.ts";
import type { AnyChannel } from "../schema/channel.ts";
import { withIssue } from "../schema/issues.ts";
import { describeIssues, standardValidator, type Validator } from "../schema/validate.ts";

/** Topics of channels begin with it. Applications cannot use such names. */
const PREFIX = "$c/";
const MAX_TOPIC_LENGTH = 1_024;
/** All parameters of a join together, before validation, which may shorten them. */
const MAX_PARAMS_LENGTH = 4_096;

/** Validated parameters. */
export type Params = Readonly<Record<string, string | number | boolean>>;

/** Throws `INVALID_ARGUMENT` for parameters that do not match the channel's schema. */
export function checkParams(
  channel: AnyChannel,
  given: unknown,
  validator: Validator = standardValidator,
): Params {
  const { params, pattern, paramNames } = channel;
  if (!isObject(given) || !isShort(given)) throw invalid(pattern, "are not an object of short values");
  const result = params === undefined ? checkNone(given) : validator(params, given);
  if ("then" in result) {
    ignoreRejection(result);
    throw new TypeError(
      `The schema of the params of channel "${pattern}" is asynchronous, or a check in it throws.`,
    );
  }
  if (result.issues !== undefined)
    throw withIssue(
      new WsError("INVALID_ARGUMENT", `The params of channel "${pattern}" do not match its schema.`, {
        issues: describeIssues(result.issues),
      }),
    );
  const values = result.value as Record<string, unknown>;
  // Only the parameters of the name, in its order: a schema of another library may let further keys pass.
  const checked: Record<string, string | number | boolean> = {};
  for (const name of paramNames) {
    const value = values[name];
    if (typeof value !== "string" && typeof value !== "boolean" && !Number.isFinite(value))
      throw invalid(pattern, `have no string, number or boolean "${name}"`);
    checked[name] = value as string | number | boolean;
  }
  return checked;
}

/**
 * The pattern with `*` for its parameters, then each value. A "/" within a value is escaped, and a pattern has none, so
 * that different parameters never give the same topic. No braces, which choose the hash slot of a Redis Cluster.
 */
export function topicOf({ pattern, paramNames }: AnyChannel, params: Params): string {
  const name = PREFIX + pattern.replaceAll(/\{\w+\}/g, "*");
  const topic = [name, ...paramNames.map((param) => encode(pattern, String(params[param])))].join("/");
  if (topic.length <= MAX_TOPIC_LENGTH) return topic;
  throw invalid(pattern, `make a topic longer than ${MAX_TOPIC_LENGTH} characters`);
}

function encode(pattern: string, value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    throw invalid(pattern, "contain a lone surrogate, which has no UTF-8 encoding");
  }
}

function isShort(params: Record<string, unknown>): boolean {
  let length = 0;
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === "object") return false;
    length += name.length + String(value).length;
  }
  return length <= MAX_PARAMS_LENGTH;
}

function checkNone(given: object): { readonly value: object; readonly issues?: undefined } {
  const [extra] = Object.keys(given);
  if (extra === undefined) return { value: given };
  throw new WsError("INVALID_ARGUMENT", "The channel has no parameters. Pass an empty object.");
}

function invalid(pattern: string, problem: string): WsError {
  return new WsError("INVALID_ARGUMENT", `The params of channel "${pattern}" ${problem}.`);
}
