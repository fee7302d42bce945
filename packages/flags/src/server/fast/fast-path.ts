/** Answers evaluations and events before Better Auth is entered, wherever the answer does not depend on it. */
import { isAPIError } from "better-auth/api";
import { isPlainObject } from "../../engine/json.ts";
import { parseBatchInput } from "../../model/evaluation-input.ts";
import { bodyLimitOf } from "../body-limit.ts";
import { type Call, refusalOf } from "../call.ts";
import { batchResult, singleResult } from "../evaluate.ts";
import { createEvent, createEventBatch } from "../events.ts";
import { REVISION_HEADER, STALE_HEADER } from "../flags-read.ts";
import { tooMany, WITHOUT_ADDRESS } from "../limits/admit.ts";
import type { LimitVerdict } from "../limits/limits.ts";
import { NO_LIMITS } from "../limits/memory-limits.ts";
import { addressPrincipal, knownPrincipal } from "../limits/principal.ts";
import { RULE_OF, ruleFor } from "../limits/rules.ts";
import {
  type KnownRound,
  planKnownRound,
  type Round,
  type RoundInput,
  startKnownRound,
  startRound,
} from "../round.ts";
import { ROUTES } from "../routes.ts";
import type { Service } from "../service.ts";
import type { Arrival, FastAnswer } from "./arrival.ts";
import { bootstrapText } from "./bootstrap-text.ts";
import { readCredential } from "./credentials.ts";
import { FastCall } from "./fast-call.ts";
import { principalsOf } from "./host-principals.ts";
import { ANONYMOUS, callerOf, type FastCaller } from "./known-caller.ts";
import { createOriginCheck } from "./origin.ts";
import { readBootstrapInput, readEvaluateInput } from "./quick-input.ts";

/** The operations that can be answered here. */
export const FAST_OPERATIONS = [
  "evaluateFeatureFlag",
  "evaluateFeatureFlags",
  "bootstrapFeatureFlags",
  "createFeatureFlagEvent",
  "createFeatureFlagEventBatch",
] as const;
export type FastOperation = (typeof FAST_OPERATIONS)[number];

export interface FastRoute {
  readonly name: FastOperation;
  readonly maxBytes: number;
  readonly isOriginTrusted: (header: (name: string) => string | null) => boolean;
}

/** Wherever it gives `undefined`, Better Auth has to answer. */
export interface FastPath {
  routeAt(pathname: string): FastRoute | undefined;
  identify(route: FastRoute, arrival: Arrival): FastCaller | undefined | Promise<FastCaller | undefined>;
  answer(
    route: FastRoute,
    arrival: Arrival,
    caller: FastCaller,
    text: string,
  ): FastAnswer | undefined | Promise<FastAnswer | undefined>;
}

interface FastRequest {
  readonly name: FastOperation;
  readonly arrival: Arrival;
  readonly caller: FastCaller;
  readonly body: unknown;
  /** Of the body's text. */
  readonly length: number;
}

type Answered = FastAnswer | undefined | Promise<FastAnswer | undefined>;

export function createFastPath(
  service: Service,
  context: Call["context"],
  operations: readonly FastOperation[],
): FastPath {
  const principals = principalsOf({ context });
  const routes = new Map(operations.map((name) => [prefixOf(context) + ROUTES[name].path, routeOf(name)]));
  principals.watch();

  function routeOf(name: FastOperation): FastRoute {
    const { path } = ROUTES[name];
    return { name, maxBytes: bodyLimitOf(path), isOriginTrusted: createOriginCheck(context, path) };
  }

  /** Counts a request, as the ordinary path does, and answers it if it may be. */
  function admitted({ name, arrival, caller: { caller } }: FastRequest, work: () => Answered): Answered {
    const operationRule = RULE_OF[name];
    if (service.limits === NO_LIMITS || operationRule === "none") return work();
    const principal =
      knownPrincipal(caller) ??
      addressPrincipal((header) => arrival.get(header), context.options, arrival.socketAddress);
    if (principal.kind === "nobody") service.warnOnce(WITHOUT_ADDRESS);
    const rule = ruleFor(operationRule, principal);
    const verdict = service.limits.consume(rule, principal);
    const go = (known: LimitVerdict) => {
      if (known.allowed) return work();
      service.meter.limited(rule);
      return refused(tooMany(known.retryAfterSeconds));
    };
    return verdict instanceof Promise ? verdict.then(go) : go(verdict);
  }

  function refused(error: unknown): FastAnswer {
    const { status, body, retryAfter } = refusalOf(error, "EVALUATION_ERROR", context.logger);
    const headers = retryAfter === undefined ? [] : ["retry-after", String(retryAfter)];
    return { status, body: JSON.stringify(body), headers };
  }

  function evaluation<Input extends RoundInput>(
    request: FastRequest,
    read: (body: unknown, length: number) => Input,
    write: (round: Round, input: Input) => string,
  ): Answered {
    const { arrival, caller, body, length } = request;
    let input: Input;
    let plan: KnownRound | undefined;
    try {
      input = read(body, length);
      plan = planKnownRound(service, arrival, caller, input);
    } catch (error) {
      return admitted(request, () => refused(error));
    }
    if (plan === undefined) return undefined;
    const known = plan;
    return admitted(request, () => {
      try {
        const round = startKnownRound(service, arrival, known);
        if (round !== undefined) return evaluated(round, write(round, input));
      } catch (error) {
        return refused(error);
      }
      const call = new FastCall(context, arrival, caller, body);
      return startRound(service, call, input)
        .then((round) => evaluated(round, write(round, input)))
        .catch(refused);
    });
  }

  /** The operation decides everything, as on the ordinary path. */
  function event(
    request: FastRequest,
    operation: (service: Service, call: Call) => Promise<object>,
  ): Answered {
    const { arrival, caller, body } = request;
    // Whether somebody may speak for another takes a permission.
    if (caller.caller.kind !== "anonymous" && claimsSomebody(body)) return undefined;
    return admitted(request, async () => {
      const call = new FastCall(context, arrival, caller, body);
      try {
        const result = await operation(service, call);
        return { status: 200, body: JSON.stringify(result), headers: call.answerHeaders };
      } catch (error) {
        if (!isAPIError(error)) return refused(error);
        const { answerHeaders: headers } = call;
        return { status: error.statusCode, body: JSON.stringify(error.body), headers };
      }
    });
  }

  function run(request: FastRequest): Answered {
    switch (request.name) {
      case "evaluateFeatureFlag":
        return evaluation(request, readEvaluateInput, (round, input) =>
          JSON.stringify(singleResult(round, input)),
        );
      case "evaluateFeatureFlags":
        return evaluation(request, parseBatchInput, (round, input) =>
          JSON.stringify(batchResult(round, input)),
        );
      case "bootstrapFeatureFlags":
        return evaluation(request, readBootstrapInput, bootstrapText);
      case "createFeatureFlagEvent":
        return event(request, createEvent);
      case "createFeatureFlagEventBatch":
        return event(request, createEventBatch);
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
      const credential = readCredential(principals.names, header);
      if (credential === "none") return ANONYMOUS;
      if (credential === "unclear") return undefined;
      const recalled = principals.recall(credential.proof);
      if (recalled instanceof Promise) return recalled.then((found) => found && callerOf(found));
      return recalled && callerOf(recalled);
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

/** Fields in which Better Auth expects a URL that it trusts, whatever is asked for. */
const REDIRECTS = ["callbackURL", "redirectTo", "errorCallbackURL", "newUserCallbackURL"];

function evaluated({ reading }: Round, body: string): FastAnswer {
  const revision = String(reading.revision);
  const headers = reading.stale
    ? [REVISION_HEADER, revision, STALE_HEADER, "1"]
    : [REVISION_HEADER, revision];
  return { status: 200, body, headers };
}

function claimsSomebody(body: unknown): boolean {
  if (!isPlainObject(body)) return false;
  const { context, events } = body;
  if (context !== undefined) return true;
  return (
    Array.isArray(events) && events.some((event) => isPlainObject(event) && event["context"] !== undefined)
  );
}

/** What comes before the paths of endpoints. */
function prefixOf({ baseURL, options }: Call["context"]): string {
  const path = baseURL === "" ? (options.basePath ?? "/api/auth") : new URL(baseURL).pathname;
  return path.replace(/\/+$/, "");
}
