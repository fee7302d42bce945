/** Evaluation of one flag, of many, and of all: the three public endpoints and their server methods. */
import type { JsonValue } from "../engine/json.ts";
import type {
  AnyBatchResult,
  AnyBootstrapResult,
  AnyEvaluationResult,
  BootstrapFeatureFlagsInput,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
  EvaluationField,
  EvaluationFields,
  EvaluationSelect,
} from "../model/evaluation.ts";
import { parseBatchInput, parseBootstrapInput, parseEvaluateInput } from "../model/evaluation-input.ts";
import { checkBodySize, MAX_BATCH_BODY_BYTES } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import type { FlagHit } from "./flags-read.ts";
import {
  allFlags,
  evaluateInRound,
  explainInRound,
  findInRound,
  namedFlags,
  noteAnswer,
  noteMissing,
  type Round,
  startRound,
} from "./round.ts";
import type { Service } from "./service.ts";

export function evaluateFlag(service: Service, call: Call): Promise<AnyEvaluationResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    checkBodySize(call);
    const input = parseEvaluateInput(call.body);
    return singleResult(await startRound(service, call, input), input);
  });
}

export function evaluateFlags(service: Service, call: Call): Promise<AnyBatchResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    checkBodySize(call, MAX_BATCH_BODY_BYTES);
    const input = parseBatchInput(call.body);
    return batchResult(await startRound(service, call, input), input);
  });
}

export function bootstrapFlags(service: Service, call: Call): Promise<AnyBootstrapResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    checkBodySize(call);
    const input = parseBootstrapInput(call.body);
    return bootstrapResult(await startRound(service, call, input), input);
  });
}

export function singleResult(round: Round, input: EvaluateFeatureFlagInput): AnyEvaluationResult {
  const fields = evaluateOne(round, input.flagKey, input.default ?? null);
  return {
    ...select(fields, input.select),
    evaluatedAt: round.evaluatedAt,
    ...(input.contextInResponse === true && { context: round.context }),
  };
}

export function batchResult(round: Round, input: EvaluateFeatureFlagsInput): AnyBatchResult {
  const { defaults = {} } = input;
  const entries = input.flagKeys.map((key) => {
    const fallback = Object.hasOwn(defaults, key) ? (defaults[key] ?? null) : null;
    return [key, selectInMap(evaluateOne(round, key, fallback), input.select)] as const;
  });
  return {
    flags: Object.fromEntries(entries),
    evaluatedAt: round.evaluatedAt,
    ...(input.contextInResponse !== false && { context: round.context }),
  };
}

export function bootstrapResult(round: Round, input: BootstrapFeatureFlagsInput): AnyBootstrapResult {
  const { prefix = "", includeDisabled = false } = input;
  const entries: [string, JsonValue | Partial<EvaluationFields>][] = [];
  for (const hit of input.include === undefined ? allFlags(round) : namedFlags(round, input.include)) {
    const { key } = hit.found.flag;
    if (!key.startsWith(prefix)) continue;
    const fields = evaluateHit(round, hit, includeDisabled);
    if (fields !== undefined) entries.push([key, selectInMap(fields, input.select)]);
  }
  // Not an object literal: `__proto__` is a key like any other.
  return { flags: Object.fromEntries(entries), evaluatedAt: round.evaluatedAt, context: round.context };
}

function evaluateOne(round: Round, key: string, fallback: JsonValue): EvaluationFields {
  const hit = findInRound(round, key);
  const fields = hit && evaluateHit(round, hit, true);
  if (fields !== undefined) return fields;
  noteMissing(round);
  return { value: fallback, reason: "not_found", metadata: round.metadata };
}

/** Undefined for a disabled flag where those are left out. */
function evaluateHit(round: Round, hit: FlagHit, includeDisabled: boolean): EvaluationFields | undefined {
  const { metadata } = round;
  const { layer, found } = hit;
  const trace = round.traceable.has(layer.tenant) ? explainInRound(round, hit) : undefined;
  const answered = trace?.result ?? evaluateInRound(round, layer, found);
  const { value, variant, reason, variantMetadata } = answered;
  if (reason === "disabled" && !includeDisabled) return undefined;
  noteAnswer(round, layer, found, answered);
  return {
    value,
    ...(variant !== undefined && { variant }),
    reason,
    metadata:
      variantMetadata === undefined && trace === undefined
        ? metadata
        : {
            ...metadata,
            ...(trace && { trace: trace.steps }),
            ...(variantMetadata && { variant: variantMetadata }),
          },
  };
}

function select(fields: EvaluationFields, wanted: EvaluationSelect = "full"): Partial<EvaluationFields> {
  if (wanted === "full") return fields;
  if (wanted === "value") return { value: fields.value };
  const has = (field: EvaluationField) => wanted.includes(field);
  return {
    ...(has("value") && { value: fields.value }),
    ...(has("variant") && fields.variant !== undefined && { variant: fields.variant }),
    ...(has("reason") && { reason: fields.reason }),
    ...(has("metadata") && { metadata: fields.metadata }),
  };
}

/** In a map of many flags, the value alone stands for itself. */
function selectInMap(
  fields: EvaluationFields,
  wanted: EvaluationSelect | undefined,
): JsonValue | Partial<EvaluationFields> {
  return wanted === "value" ? fields.value : select(fields, wanted);
}
