/** OFREP, the OpenFeature Remote Evaluation Protocol: evaluation of one flag and of all, in the protocol's words. */
import { APIError } from "@better-auth/core/error";
import { isAPIError } from "better-auth/api";
import { isPlainObject } from "../engine/json.ts";
import type { EvaluationFields, EvaluationMetadata } from "../model/evaluation.ts";
import type { OfrepBulkEvaluation, OfrepEvaluation, OfrepMetadata } from "../model/ofrep.ts";
import { claimOf, OPENFEATURE_REASONS } from "../model/openfeature.ts";
import { sha256 } from "../store/sha256.ts";
import { type Call, headersOf } from "./call.ts";
import { bootstrapFlags, evaluateFlag } from "./evaluate.ts";
import { pathId } from "./request.ts";
import type { Service } from "./service.ts";

/** `POST /ofrep/v1/evaluate/flags/:key` */
export async function evaluateOfrepFlag(service: Service, call: Call): Promise<OfrepEvaluation> {
  const key = pathId(call, "key");
  const result = (await asked({ key }, () =>
    evaluateFlag(service, { ...call, body: { flagKey: key, ...contextIn(call) } }),
  )) as EvaluationFields;
  if (result.reason !== "not_found") return evaluationOf(key, result);
  const errorDetails = "There is no such flag, or none for this caller.";
  throw new APIError(404, { key, errorCode: "FLAG_NOT_FOUND", errorDetails });
}

/** `POST /ofrep/v1/evaluate/flags` */
export async function evaluateOfrepFlags(
  service: Service,
  call: Call,
): Promise<OfrepBulkEvaluation | undefined> {
  const { flags, context } = await asked({}, () =>
    // A flag that is turned off must not look like one that does not exist.
    bootstrapFlags(service, { ...call, body: { includeDisabled: true, ...contextIn(call) } }),
  );
  const evaluations = Object.entries(flags).map(([key, fields]) =>
    evaluationOf(key, fields as EvaluationFields),
  );
  const answer = { flags: evaluations, metadata: evaluations[0]?.metadata ?? {} };
  // Over the answer, too: an override may expire without a new revision.
  const tag = `"${await sha256(JSON.stringify([context, answer]))}"`;
  call.setHeader("etag", tag);
  if (!isKnown(headersOf(call).get("if-none-match"), tag)) return answer;
  call.setStatus(304);
  return undefined;
}

function evaluationOf(key: string, fields: EvaluationFields): OfrepEvaluation {
  const { value, variant, reason, metadata } = fields;
  return {
    key,
    value,
    reason: OPENFEATURE_REASONS[reason],
    ...(variant !== undefined && { variant }),
    metadata: flat(metadata),
  };
}

function flat({ revision, stale, environmentIgnored }: EvaluationMetadata): OfrepMetadata {
  return { revision, ...(stale && { stale }), ...(environmentIgnored && { environmentIgnored }) };
}

/** The context, if there is one; anything that is none is left for the evaluation to refuse. */
function contextIn(call: Call): { context?: unknown } {
  const context: unknown = isPlainObject(call.body) ? call.body["context"] : call.body;
  if (context === undefined) return {};
  return { context: isPlainObject(context) ? claimOf(context) : context };
}

/** Passes a refusal on in the words of the protocol. */
async function asked<Result>(about: { key?: string }, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isAPIError(error)) throw error;
    const { statusCode, body } = error;
    const errorDetails = body?.message ?? "";
    const refusal =
      statusCode === 400 ? { ...about, errorCode: "INVALID_CONTEXT", errorDetails } : { errorDetails };
    throw new APIError(statusCode as 400, refusal, error.headers);
  }
}

function isKnown(header: string | null, tag: string): boolean {
  if (header === null) return false;
  return header.trim() === "*" || header.split(",").some((known) => known.trim().replace(/^W\//, "") === tag);
}
