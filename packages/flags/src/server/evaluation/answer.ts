/** An evaluation request from its body to its response, in two stages: between them the fast path counts the request. */
import { type Awaitable, chain } from "@halyard/base";
import type { Call } from "../call.ts";
import { readBody } from "../http/body-limit.ts";
import { matchesTag } from "../http/entity-tag.ts";
import { type ContextCall, contextCall } from "./context.ts";
import { type EvaluationInput, type EvaluationScope, openScope, prepareEvaluation } from "./scope.ts";

/** How one kind of evaluation reads its body and makes its result. */
export interface EvaluationKind<Input extends EvaluationInput, Result> {
  /** `length`: at least the length of the body's text, by its header. */
  parse(body: unknown, length: number): Input;
  result(scope: EvaluationScope, input: Input, call: Call): Awaitable<Result>;
  /** The result as JSON, with its tag if it has one. */
  text(scope: EvaluationScope, input: Input): Awaitable<ResponseText>;
}

export interface ResponseText {
  readonly text: string;
  readonly tag?: string;
}

/** An evaluation whose flags were not read yet. */
export interface Prepared<Result> {
  result(): Awaitable<Result>;
  /** Undefined for a response without a body: the client has it already. */
  text(): Awaitable<string | undefined>;
}

export interface EvaluationStages<Result> {
  /** Reads the body and resolves the context. */
  prepare(call: Call, from?: ContextCall): Awaitable<Prepared<Result>>;
}

export function evaluationStages<Input extends EvaluationInput, Result>(
  kind: EvaluationKind<Input, Result>,
): EvaluationStages<Result> {
  return {
    prepare(call, from = contextCall(call)) {
      const length = Number(call.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
      const input = kind.parse(readBody(call), length);
      const caller = call.identity.evaluator();
      const preparing = chain(caller, (known) => prepareEvaluation(from, known, input));
      return chain(preparing, (prepared) => ({
        result: () => chain(openScope(call, prepared), (scope) => kind.result(scope, input, call)),
        text: () =>
          chain(openScope(call, prepared), (scope) =>
            chain(kind.text(scope, input), ({ text, tag }) =>
              tag !== undefined && isKnown(call, tag) ? undefined : text,
            ),
          ),
      }));
    },
  };
}

/** Sets the tag. Whether the client has the response with it, which then gets status 304. */
export function isKnown({ request, headers }: Call, tag: string): boolean {
  request.setHeader("etag", tag);
  if (!matchesTag(headers.get("if-none-match"), tag)) return false;
  request.setStatus(304);
  return true;
}
