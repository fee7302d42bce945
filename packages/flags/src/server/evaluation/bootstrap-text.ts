/** The JSON text of a bootstrap, joined from pieces that stay the same between requests. */
import { type Awaitable, chain } from "@halyard/base";
import type { Evaluation } from "../../engine/definition.ts";
import type { BootstrapFeatureFlagsInput } from "../../model/evaluation.ts";
import type { Snapshot, SnapshotFlag } from "../../store/flag-store.ts";
import { EntityTag, hashText, type TextHash } from "../http/entity-tag.ts";
import type { Layer } from "./layer.ts";
import { requireBytes, requireSize } from "./response-size.ts";
import { bootstrapResult, forEachLayer, isWanted, tagOf, tagRest } from "./results.ts";
import { countEvaluation, type EvaluationScope, evaluateFlag } from "./scope.ts";
import { inTurns, Slices } from "./slices.ts";

/** A response, and the tag of what it says. */
export interface TaggedText {
  readonly text: string;
  readonly tag: string;
}

/** The same text as `JSON.stringify` of the result. A promise if other requests have to run in between. */
export function bootstrapText(
  scope: EvaluationScope,
  input: BootstrapFeatureFlagsInput,
): Awaitable<TaggedText> {
  const { select = "full" } = input;
  const { layers } = scope.reading;
  const isCommon = input.include === undefined && input.position === undefined;
  const isOrdered = layers.every((layer) => layer === undefined || piecesOf(layer.snapshot) !== undefined);
  if (!isCommon || !isOrdered || typeof select !== "string" || scope.traceable.size > 0) {
    return chain(bootstrapResult(scope, input), (result) => ({
      text: JSON.stringify(result),
      tag: tagOf(scope, result),
    }));
  }
  const flags = new FlagsText(scope, input);
  const slices = new Slices();
  const written = forEachLayer(layers, (layer) =>
    inTurns(
      slices,
      (piecesOf(layer.snapshot) ?? []).values(),
      ({ found }) => (isWanted(scope, input, layer, found) ? found.compiled.cost : undefined),
      (piece) => flags.add(layer, piece),
    ),
  );
  // A text that took more than a turn takes a millisecond to send.
  return chain(written instanceof Promise ? written.then(() => slices.pause()) : undefined, () =>
    frame(scope, flags),
  );
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
  readonly #includeDisabled: boolean;
  readonly #isValueOnly: boolean;
  readonly #metadata: string;

  constructor(scope: EvaluationScope, { select, includeDisabled = false }: BootstrapFeatureFlagsInput) {
    this.#scope = scope;
    this.#includeDisabled = includeDisabled;
    this.#isValueOnly = select === "value";
    this.#metadata = metadataText(scope);
  }

  add(layer: Layer, piece: FlagPiece): void {
    const scope = this.#scope;
    const { found } = piece;
    const answer = evaluateFlag(scope, layer, found);
    if (answer.reason === "disabled" && !this.#includeDisabled) return;
    countEvaluation(scope, layer, found, answer);
    const { text, hash } = this.#isValueOnly ? piece.value(answer) : piece.full(answer, this.#metadata);
    this.text += this.text === "" ? text.slice(1) : text;
    this.tag.add(hash);
    requireSize(this.text.length);
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
