/** OFREP, the OpenFeature Remote Evaluation Protocol: evaluation of one flag and of all, in the protocol's format. */

import { APIError } from "@better-auth/core/error";
import { headersOf, type SessionUser } from "@halyard/sessions/plugin";
import { isAPIError } from "better-auth/api";
import * as z from "zod";
import type { EvaluationReason } from "../../engine/definition.ts";
import { isPlainObject } from "../../engine/json.ts";
import type { EvaluationFields, EvaluationMetadata } from "../../model/evaluation.ts";
import { parseBootstrapInput, parseEvaluateInput } from "../../model/evaluation-input.ts";
import { jsonObject, parse } from "../../model/inputs.ts";
import type {
  OfrepBulkEvaluation,
  OfrepEvaluation,
  OfrepInput,
  OfrepMetadata,
  OfrepReason,
} from "../../model/ofrep.ts";
import { claimOf } from "../../model/openfeature.ts";
import { areRequestsIsolated } from "../../store/isolated-requests.ts";
import { sha256 } from "../../store/sha256.ts";
import type { Call } from "../call.ts";
import { contextCall, resolveContext } from "../evaluation/context.ts";
import { bootstrapResult, singleResult } from "../evaluation/results.ts";
import {
  type EvaluationInput,
  type EvaluationScope,
  openScope,
  prepareEvaluation,
} from "../evaluation/scope.ts";
import { readBody } from "../http/body-limit.ts";
import { matchesTag } from "../http/entity-tag.ts";
import { refusalOf, refuse } from "../http/errors.ts";
import type { HostRequest } from "../http/host-request.ts";
import { anyJson, anyObject, listOf, objectOf, oneOf, string } from "../http/openapi.ts";
import { pathId } from "../http/parameters.ts";
import { tooMany } from "../limits/admit.ts";
import { addressPrincipal, knownPrincipal } from "../limits/principal.ts";
import type { Get, NoQuery, Post, PublicOperation } from "./definition.ts";

const ofrepBody = z.object({ context: z.looseObject({}).optional() });

/** The protocol has no `DEFAULT`. `STATIC` is OpenFeature's word for a value that was configured for all. */
const REASONS: Readonly<Record<EvaluationReason, OfrepReason>> = {
  rule_match: "TARGETING_MATCH",
  override: "TARGETING_MATCH",
  percentage_rollout: "SPLIT",
  default: "STATIC",
  disabled: "DISABLED",
  not_found: "UNKNOWN",
};

const FIELDS = {
  value: anyJson,
  variant: string,
  reason: oneOf(...new Set(Object.values(REASONS))),
  metadata: anyObject,
};

/** Evaluates a flag in the format of OFREP. Only over HTTP: server code has `evaluateFeatureFlag`. */
export const evaluateOfrepFlagRoute: PublicOperation<
  Post<"/ofrep/v1/evaluate/flags/:key", OfrepInput, OfrepEvaluation, "http">
> = {
  summary: "Evaluate a flag by OFREP",
  method: "POST",
  path: "/ofrep/v1/evaluate/flags/:key",
  scope: "http",
  action: "public",
  rateLimit: "evaluate",
  failure: "EVALUATION_ERROR",
  body: ofrepBody,
  result: () => objectOf({ key: string, ...FIELDS }, ["key", "reason"]),
  async run(call) {
    const key = pathId(call.request, "key");
    const result = await inProtocol(call, { key }, async () => {
      const input = parseEvaluateInput({ flagKey: key, ...contextIn(readBody(call)) });
      return singleResult(await scopeFor(call, input), input);
    });
    const fields = result as EvaluationFields;
    if (fields.reason !== "not_found") return evaluationOf(key, fields);
    const errorDetails = "The flag does not exist, or this caller cannot see it.";
    throw new APIError(404, { key, errorCode: "FLAG_NOT_FOUND", errorDetails });
  },
};

/** Evaluates all flags in the format of OFREP. Only over HTTP: server code has `bootstrapFeatureFlags`. */
export const evaluateOfrepFlagsRoute: PublicOperation<
  Post<"/ofrep/v1/evaluate/flags", OfrepInput, OfrepBulkEvaluation | undefined, "http">
> = {
  summary: "Evaluate all flags by OFREP",
  method: "POST",
  path: "/ofrep/v1/evaluate/flags",
  scope: "http",
  action: "public",
  rateLimit: "bootstrap",
  failure: "EVALUATION_ERROR",
  body: ofrepBody,
  result: () =>
    objectOf(
      {
        flags: listOf(objectOf({ key: string, ...FIELDS })),
        eventStreams: listOf(objectOf({ type: string, url: string }, ["type", "url"])),
        metadata: anyObject,
      },
      ["flags"],
    ),
  async run(call) {
    const { request } = call;
    const { flags, context } = await inProtocol(call, {}, async () => {
      // A disabled flag must not look like one that does not exist.
      const input = parseBootstrapInput({ includeDisabled: true, ...contextIn(readBody(call)) });
      return bootstrapResult(await scopeFor(call, input), input);
    });
    const evaluations = Object.entries(flags).map(([key, fields]) =>
      evaluationOf(key, fields as EvaluationFields),
    );
    const eventStreams = streamsOf(call);
    const result = {
      flags: evaluations,
      ...(eventStreams && { eventStreams }),
      metadata: evaluations[0]?.metadata ?? {},
    };
    // Over the result, not only the revision: an override may expire without a new revision.
    const tag = `"${await sha256(JSON.stringify([context, result]))}"`;
    request.setHeader("etag", tag);
    if (!matchesTag(headersOf(request).get("if-none-match"), tag)) return result;
    request.setStatus(304);
    return undefined;
  },
};

const EVENTS_PATH = "/ofrep/v1/events";

/** Opens a stream of OFREP: it says when flags may have changed. Only over HTTP. */
export const openOfrepEventsRoute: PublicOperation<Get<typeof EVENTS_PATH, NoQuery, Response, "http">> = {
  summary: "Events of OFREP",
  method: "GET",
  path: EVENTS_PATH,
  scope: "http",
  action: "public",
  rateLimit: "bootstrap",
  failure: "EVALUATION_ERROR",
  async run(call) {
    const { service, request, headers, identity } = call;
    return inProtocol(call, {}, async () => {
      const caller = await identity.evaluator();
      const { layers } = await resolveContext(contextCall(call), caller, {});
      const address = () => addressPrincipal((name) => headers.get(name), request.context.options);
      const principal = knownPrincipal(caller) ?? address();
      const { id: userId, sessionId, sessionToken } = caller.kind === "user" ? caller.user : NO_USER;
      const tenants = layers.flatMap((layer) => layer?.tenant ?? []);
      const owner = { principal: JSON.stringify(principal), userId, sessionId, sessionToken };
      const stream = canStream(call) ? service.streams.open(tenants, owner) : undefined;
      if (stream === undefined) throw tooMany(STREAM_RETRY_S);
      return new Response(stream, { headers: STREAM_HEADERS });
    });
  },
};

const NO_USER: Partial<SessionUser> = {};
const STREAM_RETRY_S = 60;
const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  // Nginx would otherwise keep events back.
  "x-accel-buffering": "no",
};

/** Without background work, this process does not notice changes by itself. */
function canStream({ service }: Call): boolean {
  return service.options.poll !== false && !areRequestsIsolated() && !service.isClosed();
}

/** Better Auth gives operations the whole request. */
function requestUrl({ request }: HostRequest): string | undefined {
  return request !== undefined && "url" in request && typeof request.url === "string"
    ? request.url
    : undefined;
}

function streamsOf(call: Call): OfrepBulkEvaluation["eventStreams"] {
  const { request } = call;
  const url = request.context.baseURL || requestUrl(request)?.split("/ofrep/", 1)[0];
  return canStream(call) && url ? [{ type: "sse", url: url.replace(/\/+$/, "") + EVENTS_PATH }] : undefined;
}

function evaluationOf(key: string, fields: EvaluationFields): OfrepEvaluation {
  const { value, variant, reason, metadata } = fields;
  return {
    key,
    // The protocol has no null: without a value the caller uses the default in its code.
    ...(value !== null && { value }),
    reason: REASONS[reason],
    ...(variant !== undefined && { variant }),
    metadata: flatMetadata(metadata),
  };
}

function flatMetadata({ revision, stale, environmentIgnored }: EvaluationMetadata): OfrepMetadata {
  return { revision, ...(stale && { stale }), ...(environmentIgnored && { environmentIgnored }) };
}

/** The context as Halyard's claim. Anything that is not an object is left for the evaluation to refuse. */
function contextIn(body: unknown): { context?: unknown } {
  const context: unknown = isPlainObject(body) ? body["context"] : body;
  if (context === undefined) return {};
  // Converting the context would exhaust the stack if it were nested without limit.
  return { context: isPlainObject(context) ? claimOf(parse(jsonObject, context)) : context };
}

async function scopeFor(call: Call, input: EvaluationInput): Promise<EvaluationScope> {
  const caller = await call.identity.evaluator();
  return openScope(call, await prepareEvaluation(contextCall(call), caller, input));
}

/** Turns an error into the protocol's format. */
async function inProtocol<Result>(
  { request }: Call,
  about: { key?: string },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isAPIError(error)) {
      // Thrown by the host, for example by its `permission`.
      const body = bodyOf(error.statusCode, about, error.body?.message ?? "");
      throw new APIError(error.statusCode as 400, body, error.headers);
    }
    const refusal = refusalOf(error, "EVALUATION_ERROR", request.context.logger);
    throw refuse(request, refusal, bodyOf(refusal.status, about, refusal.body.message), error);
  }
}

function bodyOf(status: number, about: { key?: string }, errorDetails: string): object {
  return status === 400 ? { ...about, errorCode: "INVALID_CONTEXT", errorDetails } : { errorDetails };
}
