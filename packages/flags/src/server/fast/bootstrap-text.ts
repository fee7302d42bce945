/** The JSON text of a bootstrap, joined from pieces that stay the same between requests. */
import type { Evaluation } from "../../engine/definition.ts";
import type { BootstrapFeatureFlagsInput } from "../../model/evaluation.ts";
import type { Snapshot, SnapshotFlag } from "../../store/flag-store.ts";
import { findInLayers, isVisible } from "../evaluation/flags.ts";
import { requireBytes, requireSize } from "../evaluation/response-size.ts";
import { bootstrapResult } from "../evaluation/results.ts";
import { countEvaluation, type EvaluationScope, evaluateFlag } from "../evaluation/scope.ts";

/** The same text as `JSON.stringify` of the ordinary result. */
export function bootstrapText(scope: EvaluationScope, input: BootstrapFeatureFlagsInput): string {
  const { select = "full" } = input;
  const isCommon = input.include === undefined && input.position === undefined;
  if (!isCommon || typeof select !== "string" || scope.traceable.size > 0) {
    return JSON.stringify(bootstrapResult(scope, input));
  }
  const flags = flagsText(scope, input, select === "value");
  if (flags === undefined) return JSON.stringify(bootstrapResult(scope, input));
  const context = JSON.stringify(scope.context);
  const text = `{"flags":{${flags}},"evaluatedAt":"${scope.evaluatedAt}","context":${context}}`;
  requireBytes(text);
  return text;
}

function flagsText(
  scope: EvaluationScope,
  { prefix = "", includeDisabled = false }: BootstrapFeatureFlagsInput,
  isValueOnly: boolean,
): string | undefined {
  const { layers } = scope.reading;
  const metadata = metadataText(scope);
  let text = "";
  let isFirstLayer = true;
  for (const layer of layers) {
    const pieces = piecesOf(layer.snapshot);
    if (pieces === undefined) return undefined;
    for (const piece of pieces) {
      const { found } = piece;
      if (!isVisible(found, scope.seesServerFlags) || !found.flag.key.startsWith(prefix)) continue;
      if (!isFirstLayer && findInLayers(layers, found.flag.key, scope.seesServerFlags)?.found !== found)
        continue;
      const answer = evaluateFlag(scope, layer, found);
      if (answer.reason === "disabled" && !includeDisabled) continue;
      countEvaluation(scope, layer, found, answer);
      const flag = isValueOnly ? piece.value(answer) : piece.full(answer, metadata);
      text += text === "" ? flag.slice(1) : flag;
      requireSize(text);
    }
    isFirstLayer = false;
  }
  return text;
}

/** The metadata that all requests share until the next change of flags. */
let shared = { revision: -1, text: "" };

/** Without its closing brace. */
function metadataText({ metadata }: EvaluationScope): string {
  const { revision, stale, environmentIgnored } = metadata;
  if (stale === true || environmentIgnored === true) return JSON.stringify(metadata).slice(0, -1);
  if (shared.revision !== revision) shared = { revision, text: `{"revision":${revision}` };
  return shared.text;
}

/** Texts that are kept for one flag; most flags have fewer distinct evaluations. */
const MAX_KEPT = 64;

/** The texts of a flag's evaluations, each with a comma before it. */
class FlagPiece {
  readonly found: SnapshotFlag;
  readonly #key: string;
  readonly #values = new Map<Evaluation, string>();
  readonly #fulls = new Map<Evaluation, string>();
  /** The metadata in the texts of `#fulls`. */
  #metadata = "";

  constructor(found: SnapshotFlag) {
    this.found = found;
    this.#key = `,${JSON.stringify(found.flag.key)}:`;
  }

  value(answer: Evaluation): string {
    const cached = this.#values.get(answer);
    if (cached !== undefined) return cached;
    return keep(this.#values, answer, this.#key + JSON.stringify(answer.value));
  }

  full(answer: Evaluation, metadata: string): string {
    if (metadata !== this.#metadata) {
      this.#fulls.clear();
      this.#metadata = metadata;
    }
    const cached = this.#fulls.get(answer);
    if (cached !== undefined) return cached;
    const { value, variant, reason, variantMetadata } = answer;
    const chosen = variant === undefined ? "" : `,"variant":${JSON.stringify(variant)}`;
    const ofVariant = variantMetadata === undefined ? "" : `,"variant":${JSON.stringify(variantMetadata)}`;
    const fields = `{"value":${JSON.stringify(value)}${chosen},"reason":"${reason}"`;
    return keep(this.#fulls, answer, `${this.#key}${fields},"metadata":${metadata}${ofVariant}}}`);
  }
}

function keep(texts: Map<Evaluation, string>, answer: Evaluation, text: string): string {
  // Each evaluation of an override is a new object.
  if (answer.reason === "override") return text;
  if (texts.size >= MAX_KEPT) texts.clear();
  texts.set(answer, text);
  return text;
}

const piecesBySnapshot = new WeakMap<Snapshot, readonly FlagPiece[] | "unordered">();

/** Undefined when an object would list the flags in another order. */
function piecesOf(snapshot: Snapshot): readonly FlagPiece[] | undefined {
  let pieces = piecesBySnapshot.get(snapshot);
  if (pieces === undefined) {
    const isOrdered = ![...snapshot.flags.keys()].some(isIndex);
    pieces = isOrdered ? [...snapshot.flags.values()].map((found) => new FlagPiece(found)) : "unordered";
    piecesBySnapshot.set(snapshot, pieces);
  }
  return pieces === "unordered" ? undefined : pieces;
}

/** Objects list integer-like keys first, in numeric order. */
function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
}
