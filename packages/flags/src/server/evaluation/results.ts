/** The results of evaluation requests, shaped as the caller selected. */
import type { JsonValue } from "../../engine/json.ts";
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
  ExposureTokenMap,
} from "../../model/evaluation.ts";
import { type EntityTag, hashText } from "../http/entity-tag.ts";
import { type FlagHit, positionOf } from "./flags.ts";
import { ResponseSize } from "./response-size.ts";
import {
  allFlags,
  countEvaluation,
  countMissing,
  type EvaluationScope,
  evaluateFlag,
  explainFlag,
  findFlag,
  namedFlags,
} from "./scope.ts";
import { Slices } from "./slices.ts";

export function singleResult(scope: EvaluationScope, input: EvaluateFeatureFlagInput): AnyEvaluationResult {
  const fields = evaluateKey(scope, input.flagKey, input.default ?? null);
  return {
    ...select(fields, input.select),
    evaluatedAt: scope.evaluatedAt,
    ...(input.contextInResponse === true && { context: scope.shownContext }),
    ...tokensOf(scope),
  };
}

export async function batchResult(
  scope: EvaluationScope,
  input: EvaluateFeatureFlagsInput,
): Promise<AnyBatchResult> {
  const { defaults = {} } = input;
  const size = new ResponseSize(input.select, scope.metadata);
  const slices = new Slices();
  const entries: [string, JsonValue | Partial<EvaluationFields>][] = [];
  for (const key of input.flagKeys) {
    const { cost = 0 } = findFlag(scope, key)?.found.compiled ?? {};
    if (!slices.take(cost)) await slices.takeAfterPause(cost);
    const fallback = Object.hasOwn(defaults, key) ? (defaults[key] ?? null) : null;
    entries.push([key, selectInMap(evaluateKey(scope, key, fallback, size), input.select)]);
  }
  const result = {
    flags: Object.fromEntries(entries),
    evaluatedAt: scope.evaluatedAt,
    ...(input.contextInResponse !== false && { context: scope.shownContext }),
    ...tokensOf(scope),
  };
  size.check(result);
  return result;
}

export async function bootstrapResult(
  scope: EvaluationScope,
  input: BootstrapFeatureFlagsInput,
  tag?: EntityTag,
): Promise<AnyBootstrapResult> {
  const { prefix = "", includeDisabled = false } = input;
  const size = new ResponseSize(input.select, scope.metadata);
  const slices = new Slices();
  const entries: [string, JsonValue | Partial<EvaluationFields>][] = [];
  for (const hit of input.include === undefined ? allFlags(scope) : namedFlags(scope, input.include)) {
    const { key } = hit.found.flag;
    if (!key.startsWith(prefix)) continue;
    const { cost } = hit.found.compiled;
    if (!slices.take(cost)) await slices.takeAfterPause(cost);
    const fields = evaluateHit(scope, hit, includeDisabled, size);
    if (fields !== undefined) {
      const selected = selectInMap(fields, input.select);
      entries.push([key, selected]);
      tag?.add(hashText(`,${JSON.stringify(key)}:${JSON.stringify(selected)}`));
    }
  }
  // Not an object literal: `__proto__` is a key like any other.
  const result: AnyBootstrapResult = {
    flags: Object.fromEntries(entries),
    evaluatedAt: scope.evaluatedAt,
    context: scope.shownContext,
    ...(input.position && { position: positionOf(scope.reading) }),
    ...(input.position && scope.reading.stale && { stale: true }),
    ...tokensOf(scope),
  };
  size.check(result);
  if (tag !== undefined) tagRest(tag, scope);
  return result;
}

/** Tokens are valid for 24 hours. A client that polls gets new ones after a part of that time. */
const TOKENS_KEPT_MS = 6 * 60 * 60 * 1000;

/** Adds what a bootstrap has besides its flags to the tag, except its time. */
export function tagRest(tag: EntityTag, { shownContext, exposures, nowMs }: EvaluationScope): void {
  tag.add(hashText(JSON.stringify(shownContext)));
  if (exposures !== undefined) tag.add(hashText(String(Math.floor(nowMs / TOKENS_KEPT_MS))));
}

/** The tokens of the flags that were evaluated, if the request asks for them. */
function tokensOf({ exposures }: EvaluationScope): { exposures: ExposureTokenMap } | undefined {
  return exposures && { exposures: Object.fromEntries(exposures) };
}

function evaluateKey(
  scope: EvaluationScope,
  key: string,
  fallback: JsonValue,
  size?: ResponseSize,
): EvaluationFields {
  const hit = findFlag(scope, key);
  const fields = hit && evaluateHit(scope, hit, true, size);
  if (fields !== undefined) return fields;
  countMissing(scope);
  return { value: fallback, reason: "not_found", metadata: scope.metadata };
}

/** Undefined for a disabled flag when those are left out. */
function evaluateHit(
  scope: EvaluationScope,
  hit: FlagHit,
  includeDisabled: boolean,
  size: ResponseSize | undefined,
): EvaluationFields | undefined {
  const { metadata } = scope;
  const { layer, found } = hit;
  const trace = scope.traceable.has(layer.tenant) ? explainFlag(scope, layer, found) : undefined;
  const evaluation = trace?.result ?? evaluateFlag(scope, layer, found);
  const { value, variant, reason, variantMetadata } = evaluation;
  if (reason === "disabled" && !includeDisabled) return undefined;
  size?.add(found.flag.key, evaluation, trace?.steps);
  countEvaluation(scope, layer, found, evaluation);
  size?.addToken(found.flag.key, scope.exposures?.get(found.flag.key));
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
  wanted satisfies readonly EvaluationField[];
  const has = (field: EvaluationField) => wanted.includes(field);
  return {
    ...(has("value") && { value: fields.value }),
    ...(has("variant") && fields.variant !== undefined && { variant: fields.variant }),
    ...(has("reason") && { reason: fields.reason }),
    ...(has("metadata") && { metadata: fields.metadata }),
  };
}

/** In a map of several flags, `select: "value"` gives the bare value. */
function selectInMap(
  fields: EvaluationFields,
  wanted: EvaluationSelect | undefined,
): JsonValue | Partial<EvaluationFields> {
  return wanted === "value" ? fields.value : select(fields, wanted);
}
