/** Answers evaluations and events without Better Auth, wherever the answer does not depend on it. */
import { type KnownCaller, RequestIdentity, recallCaller } from "@halyard/sessions/plugin";
import { isAPIError } from "better-auth/api";
import { isPlainObject } from "../../engine/json.ts";
import { TRUSTED_ROOTS } from "../../engine/path.ts";
import { parseBatchInput } from "../../model/evaluation-input.ts";
import type { OperationFacts } from "../call.ts";
import { REVISION_HEADER, STALE_HEADER } from "../evaluation/flags.ts";
import { batchResult, singleResult } from "../evaluation/results.ts";
import {
  type EvaluationInput,
  type EvaluationScope,
  openScope,
  peekScope,
  planScope,
  type ScopePlan,
} from "../evaluation/scope.ts";
import { basePathOf } from "../http/base-path.ts";
import { MAX_BODY_BYTES } from "../http/body-limit.ts";
import { matchesTag } from "../http/entity-tag.ts";
import { answer, refusalOf } from "../http/errors.ts";
import type { HostContext } from "../http/host-request.ts";
import { tooMany, WITHOUT_ADDRESS } from "../limits/admit.ts";
import type { LimitVerdict } from "../limits/limits.ts";
import { addressPrincipal, knownPrincipal } from "../limits/principal.ts";
import { ruleFor } from "../limits/rules.ts";
import { bootstrapFeatureFlags, evaluateFeatureFlag, evaluateFeatureFlags } from "../operations/evaluate.ts";
import { createFeatureFlagEvent, createFeatureFlagEventBatch } from "../operations/events.ts";
import { createFeatureFlagExposures } from "../operations/exposures.ts";
import type { Service } from "../service.ts";
import type { Arrival, FastAnswer } from "./arrival.ts";
import { bootstrapText, type TaggedText } from "./bootstrap-text.ts";
import { FastRequest } from "./fast-request.ts";
import { createOriginCheck } from "./origin.ts";
import { readBootstrapInput, readEvaluateInput } from "./quick-input.ts";

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
/** An operation that the fast path runs as the ordinary path does. */
type RecordingOperation =
  | typeof createFeatureFlagEvent
  | typeof createFeatureFlagEventBatch
  | typeof createFeatureFlagExposures;

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

interface ParsedRequest {
  readonly name: FastOperation;
  readonly arrival: Arrival;
  readonly caller: KnownCaller;
  readonly body: unknown;
  /** Length of the body's text. */
  readonly length: number;
}

type Answered = FastAnswer | undefined | Promise<FastAnswer | undefined>;

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

  /** Counts a request against its rate limit, as the ordinary path does, and runs the work if it is allowed. */
  function admitted({ name, arrival, caller: { caller } }: ParsedRequest, work: () => Answered): Answered {
    const { rateLimit } = FAST_OPERATIONS[name];
    const { limits } = service;
    if (limits === undefined || rateLimit === "none") return work();
    const principal =
      knownPrincipal(caller) ??
      addressPrincipal((header) => arrival.get(header), context.options, arrival.socketAddress);
    if (principal.kind === "nobody") service.warnOnce(WITHOUT_ADDRESS);
    const rule = ruleFor(rateLimit, principal);
    const verdict = limits.consume(rule, principal);
    const proceed = (decided: LimitVerdict) => {
      if (decided.allowed) return work();
      service.meter.limited(rule);
      return refused(tooMany(decided.retryAfterSeconds));
    };
    return verdict instanceof Promise ? verdict.then(proceed) : proceed(verdict);
  }

  /** The call as operations expect it, with the caller from the principal cache. */
  function callOf<Facts extends OperationFacts>({ arrival, caller, body }: ParsedRequest, operation: Facts) {
    const request = new FastRequest(context, arrival, body);
    const identity = new RequestIdentity(request, identities, caller);
    return { service, request, headers: arrival, identity, operation };
  }

  function refused(error: unknown): FastAnswer {
    const { status, body, retryAfter } = refusalOf(error, "EVALUATION_ERROR", context.logger);
    const headers = retryAfter === undefined ? [] : ["retry-after", String(retryAfter)];
    return { status, body: JSON.stringify(body), headers };
  }

  function evaluation<Input extends EvaluationInput>(
    request: ParsedRequest,
    parse: (body: unknown, length: number) => Input,
    write: (scope: EvaluationScope, input: Input) => Written | Promise<Written>,
  ): Answered {
    const { name, arrival, caller, body, length } = request;
    let input: Input;
    let plan: ScopePlan | undefined;
    try {
      input = parse(body, length);
      plan = planScope(service, arrival, caller, input);
    } catch (error) {
      return admitted(request, () => refused(error));
    }
    if (plan === undefined) return undefined;
    const planned = plan;
    return admitted(request, () => {
      try {
        const scope = peekScope(service, arrival, planned);
        if (scope !== undefined) {
          const written = write(scope, input);
          if (!(written instanceof Promise)) return evaluated(arrival, scope, written);
          return written.then((late) => evaluated(arrival, scope, late)).catch(refused);
        }
      } catch (error) {
        return refused(error);
      }
      return openScope(callOf(request, FAST_OPERATIONS[name]), input)
        .then(async (scope) => evaluated(arrival, scope, await write(scope, input)))
        .catch(refused);
    });
  }

  /** Runs the operation itself, as the ordinary path does. */
  function event(request: ParsedRequest, operation: RecordingOperation): Answered {
    const { caller, body } = request;
    // A claim to be another user needs a permission, which Better Auth's path checks.
    if (caller.caller.kind !== "anonymous" && hasClaim(body)) return undefined;
    return admitted(request, async () => {
      const call = callOf(request, operation);
      try {
        const result = await answer<object>(call.request, "STORAGE_ERROR", () => operation.run(call));
        return { status: 200, body: JSON.stringify(result), headers: call.request.answerHeaders };
      } catch (error) {
        if (!isAPIError(error)) return refused(error);
        const { answerHeaders: headers } = call.request;
        return { status: error.statusCode, body: JSON.stringify(error.body), headers };
      }
    });
  }

  function run(request: ParsedRequest): Answered {
    switch (request.name) {
      case "evaluateFeatureFlag":
        return evaluation(request, readEvaluateInput, (scope, input) =>
          JSON.stringify(singleResult(scope, input)),
        );
      case "evaluateFeatureFlags":
        return evaluation(request, parseBatchInput, async (scope, input) =>
          JSON.stringify(await batchResult(scope, input)),
        );
      case "bootstrapFeatureFlags":
        return evaluation(request, readBootstrapInput, bootstrapText);
      case "createFeatureFlagEvent":
        return event(request, createFeatureFlagEvent);
      case "createFeatureFlagEventBatch":
        return event(request, createFeatureFlagEventBatch);
      case "createFeatureFlagExposures":
        return event(request, createFeatureFlagExposures);
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
      if (isPlainObject(body) && REDIRECTS.some((field) => field in body)) return undefined;
      const answered = run({ name, arrival, caller, body, length: text.length });
      if (answered instanceof Promise) return answered.then((late) => measured(name, startedAtMs, late));
      return measured(name, startedAtMs, answered);
    },
  };
}

/** Fields in which Better Auth expects a trusted URL, in any request. */
const REDIRECTS = ["callbackURL", "redirectTo", "errorCallbackURL", "newUserCallbackURL"];

/** A bootstrap has a tag. */
type Written = string | TaggedText;

function evaluated(arrival: Arrival, { reading }: EvaluationScope, written: Written): FastAnswer {
  const revision = String(reading.revision);
  const headers = reading.stale
    ? [REVISION_HEADER, revision, STALE_HEADER, "1"]
    : [REVISION_HEADER, revision];
  if (typeof written === "string") return { status: 200, body: written, headers };
  const { text: body, tag } = written;
  headers.push("etag", tag);
  return matchesTag(arrival.get("if-none-match"), tag)
    ? { status: 304, body: "", headers }
    : { status: 200, body, headers };
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
