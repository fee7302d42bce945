/** Answers evaluations and events without Better Auth, wherever the answer does not depend on it. */
import { type Awaitable, chain } from "@halyard/base";
import { type KnownCaller, RequestIdentity, recallCaller } from "@halyard/sessions/plugin";
import { isAPIError } from "better-auth/api";
import { isPlainObject } from "../../engine/json.ts";
import { TRUSTED_ROOTS } from "../../engine/path.ts";
import type { Call } from "../call.ts";
import type { Prepared } from "../evaluation/answer.ts";
import { knownContextCall } from "../evaluation/context.ts";
import { basePathOf } from "../http/base-path.ts";
import { MAX_BODY_BYTES } from "../http/body-limit.ts";
import { refusalOf } from "../http/errors.ts";
import { createOriginCheck, hasRedirect } from "../http/host-facts.ts";
import type { HostContext } from "../http/host-request.ts";
import { admit } from "../limits/admit.ts";
import { bootstrapFeatureFlags, evaluateFeatureFlag, evaluateFeatureFlags } from "../operations/evaluate.ts";
import { createFeatureFlagEvent, createFeatureFlagEventBatch } from "../operations/events.ts";
import { createFeatureFlagExposures } from "../operations/exposures.ts";
import type { Service } from "../service.ts";
import type { Arrival, FastAnswer } from "./arrival.ts";
import { FastRequest } from "./fast-request.ts";

/** The operations that the fast path can answer. */
export interface FastOperations {
  readonly evaluateFeatureFlag: typeof evaluateFeatureFlag;
  readonly evaluateFeatureFlags: typeof evaluateFeatureFlags;
  readonly bootstrapFeatureFlags: typeof bootstrapFeatureFlags;
  readonly createFeatureFlagEvent: typeof createFeatureFlagEvent;
  readonly createFeatureFlagEventBatch: typeof createFeatureFlagEventBatch;
  readonly createFeatureFlagExposures: typeof createFeatureFlagExposures;
}
export type FastOperation = keyof FastOperations;
export const FAST_OPERATIONS: FastOperations = {
  evaluateFeatureFlag,
  evaluateFeatureFlags,
  bootstrapFeatureFlags,
  createFeatureFlagEvent,
  createFeatureFlagEventBatch,
  createFeatureFlagExposures,
};

export interface FastRoute {
  readonly name: FastOperation;
  readonly maxBytes: number;
  readonly isOriginTrusted: (header: (name: string) => string | null) => boolean;
}

/** A result of `undefined` means that Better Auth must answer. */
export interface FastPath {
  routeAt(pathname: string): FastRoute | undefined;
  identify(route: FastRoute, arrival: Arrival): KnownCaller | undefined | Promise<KnownCaller | undefined>;
  answer(route: FastRoute, arrival: Arrival, caller: KnownCaller, text: string): Answered;
}

interface FastCall extends Call {
  readonly request: FastRequest;
  readonly operation: FastOperations[FastOperation];
}

type Answered = Awaitable<FastAnswer | undefined>;

/** Thrown by an evaluation that Better Auth must answer, because it needs a query about the caller or a permission. */
const LEFT_TO_HOST = new Error("Better Auth answers this request.");

const leaveToHost = (): never => {
  throw LEFT_TO_HOST;
};

export function createFastPath(
  service: Service,
  context: HostContext,
  operations: readonly FastOperation[],
): FastPath {
  const { identities } = service;
  const prefix = basePathOf(context);
  const routes = new Map(operations.map((name) => [prefix + FAST_OPERATIONS[name].path, routeOf(name)]));

  function routeOf(name: FastOperation): FastRoute {
    const { path, maxBodyBytes = MAX_BODY_BYTES } = FAST_OPERATIONS[name];
    return { name, maxBytes: maxBodyBytes, isOriginTrusted: createOriginCheck(context, path) };
  }

  function run(name: FastOperation, arrival: Arrival, known: KnownCaller, body: unknown): Answered {
    const operation = FAST_OPERATIONS[name];
    const request = new FastRequest(context, arrival, body);
    const identity = new RequestIdentity(request, identities, known);
    const { socketAddress } = arrival;
    const call = { service, request, headers: arrival, identity, operation, socketAddress };
    if (operation.stages === undefined) {
      // A claim to be another user needs a permission, which Better Auth's path checks.
      if (known.caller.kind !== "anonymous" && hasClaim(body)) return undefined;
      return answered(call, async () => JSON.stringify(await operation.run(call)));
    }
    let prepared: Awaitable<Prepared<unknown>>;
    try {
      const from = knownContextCall(service, arrival, known.ties, leaveToHost);
      prepared = operation.stages.prepare(call, from);
    } catch (error) {
      if (error === LEFT_TO_HOST) return undefined;
      return answered(call, () => {
        throw error;
      });
    }
    return answered(call, () => chain(prepared, (evaluation) => evaluation.text()));
  }

  /** Counts the request against its rate limit, as the ordinary path does, and does the work if it is allowed. */
  function answered(call: FastCall, work: () => Awaitable<string | undefined>): Awaitable<FastAnswer> {
    const { request, operation } = call;
    const refused = (error: unknown): FastAnswer => {
      const { answerHeaders } = request;
      if (isAPIError(error))
        return { status: error.statusCode, body: JSON.stringify(error.body), headers: answerHeaders };
      const { status, body, retryAfter } = refusalOf(
        error,
        operation.failure ?? "STORAGE_ERROR",
        context.logger,
      );
      const wait = retryAfter === undefined ? [] : ["retry-after", String(retryAfter)];
      return { status, body: JSON.stringify(body), headers: [...answerHeaders, ...wait] };
    };
    try {
      const text = chain(admit(call, operation), work);
      const answer = chain(text, (body = "") => ({
        status: request.status,
        body,
        headers: request.answerHeaders,
      }));
      return answer instanceof Promise ? answer.catch(refused) : answer;
    } catch (error) {
      return refused(error);
    }
  }

  function measured(name: FastOperation, startedAtMs: number, answer: FastAnswer | undefined) {
    if (answer !== undefined) service.meter.answered(name, answer.status, performance.now() - startedAtMs);
    return answer;
  }

  return {
    routeAt: (pathname) => routes.get(pathname),
    identify({ isOriginTrusted }, arrival) {
      const header = (name: string) => arrival.get(name);
      if (!isOriginTrusted(header)) return undefined;
      return recallCaller(identities, header);
    },
    answer({ name }, arrival, caller, text) {
      const startedAtMs = performance.now();
      let body: unknown;
      try {
        body = text === "" ? undefined : JSON.parse(text);
      } catch {
        return undefined;
      }
      if (hasRedirect(body)) return undefined;
      return chain(run(name, arrival, caller, body), (answer) => measured(name, startedAtMs, answer));
    },
  };
}

function hasClaim(body: unknown): boolean {
  if (!isPlainObject(body)) return false;
  const { context, events } = body;
  if (claimsIdentity(context)) return true;
  return (
    Array.isArray(events) && events.some((event) => isPlainObject(event) && claimsIdentity(event["context"]))
  );
}

const IDENTITY = ["userId", "email", "role", "organizationId", ...TRUSTED_ROOTS];

/** Other fields of a context only describe the caller, as `anonymousId` does. */
function claimsIdentity(context: unknown): boolean {
  if (context === undefined) return false;
  if (!isPlainObject(context)) return true;
  const { attributes = {} } = context;
  const isRoleClaimed = !isPlainObject(attributes) || attributes["organizationRole"] !== undefined;
  return isRoleClaimed || IDENTITY.some((field) => context[field] !== undefined);
}
