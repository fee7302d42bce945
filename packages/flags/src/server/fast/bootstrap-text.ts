/** The JSON text of a bootstrap, joined from pieces that stay the same between requests. */
import type { Evaluation } from "../../engine/definition.ts";
import type { BootstrapFeatureFlagsInput } from "../../model/evaluation.ts";
import type { Snapshot, SnapshotFlag } from "../../store/flag-store.ts";
import { findInLayers, isVisible, type Layer } from "../evaluation/flags.ts";
import { requireBytes, requireSize } from "../evaluation/response-size.ts";
import { bootstrapResult, tagRest } from "../evaluation/results.ts";
import { countEvaluation, type EvaluationScope, evaluateFlag } from "../evaluation/scope.ts";
import { Slices } from "../evaluation/slices.ts";
import { EntityTag, hashText, type TextHash } from "../http/entity-tag.ts";

/** A response, and the tag of what it says. */
export interface TaggedText {
  readonly text: string;
  readonly tag: string;
}

/** The same text as `JSON.stringify` of the ordinary result. A promise if other requests have to run in between. */
export function bootstrapText(
  scope: EvaluationScope,
  input: BootstrapFeatureFlagsInput,
): TaggedText | Promise<TaggedText> {
  const { select = "full" } = input;
  const isCommon = input.include === undefined && input.position === undefined;
  const isOrdered = scope.reading.layers.every(({ snapshot }) => piecesOf(snapshot) !== undefined);
  if (!isCommon || !isOrdered || typeof select !== "string" || scope.traceable.size > 0)
    return ordinaryText(scope, input);
  const flags = new FlagsText(scope, input, select === "value");
  const slices = new Slices();
  return flags.write(slices) ? frame(scope, flags) : writeInTurns(scope, flags, slices);
}

async function ordinaryText(scope: EvaluationScope, input: BootstrapFeatureFlagsInput): Promise<TaggedText> {
  const tag = new EntityTag();
  const result = await bootstrapResult(scope, input, tag);
  return { text: JSON.stringify(result), tag: String(tag) };
}

async function writeInTurns(scope: EvaluationScope, flags: FlagsText, slices: Slices): Promise<TaggedText> {
  do await slices.pause();
  while (!flags.write(slices));
  // A long text takes a millisecond to send.
  await slices.pause();
  return frame(scope, flags);
}

function frame(scope: EvaluationScope, { text: flags, tag }: FlagsText): TaggedText {
  const context = JSON.stringify(scope.shownContext);
  const tokens = scope.exposures && JSON.stringify(Object.fromEntries(scope.exposures));
  const exposures = tokens === undefined ? "" : `,"exposures":${tokens}`;
  const text = `{"flags":{${flags}},"evaluatedAt":"${scope.evaluatedAt}","context":${context}${exposures}}`;
  requireBytes(text);
  tagRest(tag, scope);
  return { text, tag: String(tag) };
}

class FlagsText {
  text = "";
  readonly tag: EntityTag = new EntityTag();
  readonly #scope: EvaluationScope;
  readonly #input: BootstrapFeatureFlagsInput;
  readonly #isValueOnly: boolean;
  readonly #metadata: string;
  /** Where the next call continues. */
  #layer = 0;
  #piece = 0;

  constructor(scope: EvaluationScope, input: BootstrapFeatureFlagsInput, isValueOnly: boolean) {
    this.#scope = scope;
    this.#input = input;
    this.#isValueOnly = isValueOnly;
    this.#metadata = metadataText(scope);
  }

  /** Adds flags until the slice is over. Returns whether all flags are written. */
  write(slices: Slices): boolean {
    const { layers } = this.#scope.reading;
    for (; this.#layer < layers.length; this.#layer++) {
      const layer = layers[this.#layer];
      if (layer === undefined) continue;
      const pieces = piecesOf(layer.snapshot) ?? [];
      for (; this.#piece < pieces.length; this.#piece++) {
        const piece = pieces[this.#piece];
        if (piece === undefined || !this.#isWanted(piece.found)) continue;
        if (!slices.take(piece.found.compiled.cost)) return false;
        this.#add(layer, piece);
      }
      this.#piece = 0;
    }
    return true;
  }

  /** Whether the caller may see the flag and asked for it, and no earlier layer has one with its key. */
  #isWanted(found: SnapshotFlag): boolean {
    const { reading, seesServerFlags } = this.#scope;
    const { prefix = "" } = this.#input;
    if (!isVisible(found, seesServerFlags) || !found.flag.key.startsWith(prefix)) return false;
    return (
      this.#layer === 0 || findInLayers(reading.layers, found.flag.key, seesServerFlags)?.found === found
    );
  }

  #add(layer: Layer, piece: FlagPiece): void {
    const scope = this.#scope;
    const { includeDisabled = false } = this.#input;
    const { found } = piece;
    const answer = evaluateFlag(scope, layer, found);
    if (answer.reason === "disabled" && !includeDisabled) return;
    countEvaluation(scope, layer, found, answer);
    const { text, hash } = this.#isValueOnly ? piece.value(answer) : piece.full(answer, this.#metadata);
    this.text += this.text === "" ? text.slice(1) : text;
    this.tag.add(hash);
    requireSize(this.text);
  }
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

/** The text of an evaluation, with a comma before it. */
interface HashedText {
  readonly text: string;
  readonly hash: TextHash;
}

/** The texts of a flag's evaluations. */
class FlagPiece {
  readonly found: SnapshotFlag;
  readonly #key: string;
  readonly #values = new Map<Evaluation, HashedText>();
  readonly #fulls = new Map<Evaluation, HashedText>();
  /** The metadata in the texts of `#fulls`. */
  #metadata = "";

  constructor(found: SnapshotFlag) {
    this.found = found;
    this.#key = `,${JSON.stringify(found.flag.key)}:`;
  }

  value(answer: Evaluation): HashedText {
    const cached = this.#values.get(answer);
    if (cached !== undefined) return cached;
    return keep(this.#values, answer, this.#key + JSON.stringify(answer.value));
  }

  full(answer: Evaluation, metadata: string): HashedText {
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

function keep(texts: Map<Evaluation, HashedText>, answer: Evaluation, text: string): HashedText {
  const hashed = { text, hash: hashText(text) };
  // Each evaluation of an override is a new object.
  if (answer.reason === "override") return hashed;
  if (texts.size >= MAX_KEPT) texts.clear();
  texts.set(answer, hashed);
  return hashed;
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
