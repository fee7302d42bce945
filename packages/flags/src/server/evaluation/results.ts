/** The results of evaluation requests, shaped as the caller selected. */
import { type Awaitable, chain } from "@halyard/base";
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
import type { SnapshotFlag } from "../../store/flag-store.ts";
import { EntityTag, hashText } from "../http/entity-tag.ts";
import { type FlagHit, positionOf } from "./flags.ts";
import type { Layer, Layers } from "./layer.ts";
import { leastSize, requireResult, requireSize } from "./response-size.ts";
import {
  countEvaluation,
  countMissing,
  type EvaluationScope,
  evaluateFlag,
  explainFlag,
  findFlag,
  isSeen,
} from "./scope.ts";
import { inTurns, Slices } from "./slices.ts";

export function singleResult(scope: EvaluationScope, input: EvaluateFeatureFlagInput): AnyEvaluationResult {
  const fields = evaluateKey(scope, input.flagKey, input.default ?? null);
  return {
    ...select(fields, input.select),
    evaluatedAt: scope.evaluatedAt,
    ...(input.contextInResponse === true && { context: scope.shownContext }),
    ...tokensOf(scope),
  };
}

/** A promise if other requests have to run in between. */
export function batchResult(
  scope: EvaluationScope,
  { flagKeys, defaults = {}, select: wanted, contextInResponse }: EvaluateFeatureFlagsInput,
): Awaitable<AnyBatchResult> {
  const selection = new Selection(wanted);
  const costOf = (key: string) => findFlag(scope, key)?.found.compiled.cost ?? 0;
  const visited = inTurns(new Slices(), flagKeys.values(), costOf, (key) => {
    const fallback = Object.hasOwn(defaults, key) ? (defaults[key] ?? null) : null;
    selection.add(scope, key, evaluateKey(scope, key, fallback));
  });
  return chain(visited, () => {
    const result = {
      flags: selection.flags,
      evaluatedAt: scope.evaluatedAt,
      ...(contextInResponse !== false && { context: scope.shownContext }),
      ...tokensOf(scope),
    };
    requireResult(result);
    return result;
  });
}

/** A promise if other requests have to run in between. */
export function bootstrapResult(
  scope: EvaluationScope,
  input: BootstrapFeatureFlagsInput,
): Awaitable<AnyBootstrapResult> {
  const selection = new Selection(input.select);
  const slices = new Slices();
  const { layers } = scope.reading;
  const add = (hit: FlagHit) => {
    const fields = evaluateHit(scope, hit, input.includeDisabled === true);
    if (fields !== undefined) selection.add(scope, hit.found.flag.key, fields);
  };
  const ofLayer = (layer: Layer) =>
    inTurns(
      slices,
      layer.snapshot.flags.values(),
      (found) => (isWanted(scope, input, layer, found) ? found.compiled.cost : undefined),
      (found) => add({ layer, found }),
    );
  const named = () => {
    const hits = Array.from(new Set(input.include), (key) => findFlag(scope, key)).values();
    const costOf = (hit: FlagHit | undefined) =>
      hit?.found.flag.key.startsWith(input.prefix ?? "") ? hit.found.compiled.cost : undefined;
    return inTurns(slices, hits, costOf, (hit) => hit && add(hit));
  };
  const visited = input.include === undefined ? forEachLayer(layers, ofLayer) : named();
  return chain(visited, () => {
    const result: AnyBootstrapResult = {
      flags: selection.flags,
      evaluatedAt: scope.evaluatedAt,
      context: scope.shownContext,
      ...(input.position && { position: positionOf(scope.reading) }),
      ...(input.position && scope.reading.stale && { stale: true }),
      ...tokensOf(scope),
    };
    requireResult(result);
    return result;
  });
}

/** The layers in their order. A promise if one of them takes more than a turn. */
export function forEachLayer<One>(
  [first, global]: Layers<One>,
  visit: (layer: One) => Awaitable<void>,
): Awaitable<void> {
  return chain(visit(first), () => (global === undefined ? undefined : visit(global)));
}

/** Whether the caller may see the flag and asked for it, and no earlier layer has one with its key. */
export function isWanted(
  scope: EvaluationScope,
  { prefix = "" }: BootstrapFeatureFlagsInput,
  layer: Layer,
  found: SnapshotFlag,
): boolean {
  return found.flag.key.startsWith(prefix) && isSeen(scope, layer, found);
}

/** The tag of a bootstrap that was made as an object. */
export function tagOf(scope: EvaluationScope, { flags }: AnyBootstrapResult): string {
  const tag = new EntityTag();
  for (const [key, selected] of Object.entries(flags))
    tag.add(hashText(`,${JSON.stringify(key)}:${JSON.stringify(selected)}`));
  tagRest(tag, scope);
  return String(tag);
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

function evaluateKey(scope: EvaluationScope, key: string, fallback: JsonValue): EvaluationFields {
  const hit = findFlag(scope, key);
  const fields = hit && evaluateHit(scope, hit, true);
  if (fields !== undefined) return fields;
  countMissing(scope);
  return { value: fallback, reason: "not_found", metadata: scope.metadata };
}

/** Undefined for a disabled flag when those are left out. */
function evaluateHit(
  scope: EvaluationScope,
  { layer, found }: FlagHit,
  includeDisabled: boolean,
): EvaluationFields | undefined {
  const { metadata } = scope;
  const trace = scope.traceable.has(layer.tenant) ? explainFlag(scope, layer, found) : undefined;
  const evaluation = trace?.result ?? evaluateFlag(scope, layer, found);
  const { value, variant, reason, variantMetadata } = evaluation;
  if (reason === "disabled" && !includeDisabled) return undefined;
  countEvaluation(scope, layer, found, evaluation);
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

/** The flags of a response, as the caller selected. Throws once they are too large. */
class Selection {
  readonly #wanted: EvaluationSelect | undefined;
  readonly #entries: [string, JsonValue | Partial<EvaluationFields>][] = [];
  #least = 0;

  constructor(wanted: EvaluationSelect | undefined) {
    this.#wanted = wanted;
  }

  add({ exposures }: EvaluationScope, key: string, fields: EvaluationFields): void {
    const selected = select(fields, this.#wanted);
    this.#least += leastSize(selected) + (exposures?.get(key)?.length ?? 0);
    requireSize(this.#least);
    // `select: "value"` gives the bare value.
    this.#entries.push([key, this.#wanted === "value" ? fields.value : selected]);
  }

  /** Not an object literal: `__proto__` is a key like any other. */
  get flags(): Record<string, JsonValue | Partial<EvaluationFields>> {
    return Object.fromEntries(this.#entries);
  }
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
