/** The answer to a bootstrap as JSON, put together from pieces that stay the same from one request to the next. */
import type { Evaluation } from "../../engine/definition.ts";
import type { BootstrapFeatureFlagsInput } from "../../model/evaluation.ts";
import type { Snapshot, SnapshotFlag } from "../../store/store.ts";
import { bootstrapResult } from "../evaluate.ts";
import { findFlag, isVisible } from "../flags-read.ts";
import { evaluateInRound, noteAnswer, type Round } from "../round.ts";

/** The same text as that of the ordinary result. */
export function bootstrapText(round: Round, input: BootstrapFeatureFlagsInput): string {
  const { select = "full" } = input;
  if (input.include !== undefined || typeof select !== "string" || round.traceable.size > 0) {
    return JSON.stringify(bootstrapResult(round, input));
  }
  const flags = flagsText(round, input, select === "value");
  if (flags === undefined) return JSON.stringify(bootstrapResult(round, input));
  const context = JSON.stringify(round.context);
  return `{"flags":{${flags}},"evaluatedAt":"${round.evaluatedAt}","context":${context}}`;
}

function flagsText(
  round: Round,
  { prefix = "", includeDisabled = false }: BootstrapFeatureFlagsInput,
  isValueOnly: boolean,
): string | undefined {
  const { layers } = round.reading;
  const metadata = metadataText(round);
  let text = "";
  let isFirstLayer = true;
  for (const layer of layers) {
    const pieces = piecesOf(layer.snapshot);
    if (pieces === undefined) return undefined;
    for (const piece of pieces) {
      const { found } = piece;
      if (!isVisible(found, round.seesServerFlags) || !found.flag.key.startsWith(prefix)) continue;
      if (!isFirstLayer && findFlag(layers, found.flag.key, round.seesServerFlags)?.found !== found) continue;
      const answer = evaluateInRound(round, layer, found);
      if (answer.reason === "disabled" && !includeDisabled) continue;
      noteAnswer(round, layer, found, answer);
      const flag = isValueOnly ? piece.value(answer) : piece.full(answer, metadata);
      text += text === "" ? flag.slice(1) : flag;
    }
    isFirstLayer = false;
  }
  return text;
}

/** The usual metadata, which all requests until the next change have in common. */
let usual = { revision: -1, text: "" };

/** Without its closing brace. */
function metadataText({ metadata }: Round): string {
  const { revision, stale, environmentIgnored } = metadata;
  if (stale === true || environmentIgnored === true) return JSON.stringify(metadata).slice(0, -1);
  if (usual.revision !== revision) usual = { revision, text: `{"revision":${revision}` };
  return usual.text;
}

/** Answers whose text is kept for one flag. It has so many at most, unless it has very many variants and rules. */
const MAX_KEPT = 64;

/** The texts of a flag's answers, each with a comma before it. */
class FlagPiece {
  readonly found: SnapshotFlag;
  readonly #key: string;
  readonly #values = new Map<Evaluation, string>();
  readonly #fulls = new Map<Evaluation, string>();
  /** That of the texts in `#fulls`. */
  #metadata = "";

  constructor(found: SnapshotFlag) {
    this.found = found;
    this.#key = `,${JSON.stringify(found.flag.key)}:`;
  }

  value(answer: Evaluation): string {
    const known = this.#values.get(answer);
    if (known !== undefined) return known;
    return keep(this.#values, answer, this.#key + JSON.stringify(answer.value));
  }

  full(answer: Evaluation, metadata: string): string {
    if (metadata !== this.#metadata) {
      this.#fulls.clear();
      this.#metadata = metadata;
    }
    const known = this.#fulls.get(answer);
    if (known !== undefined) return known;
    const { value, variant, reason, variantMetadata } = answer;
    const chosen = variant === undefined ? "" : `,"variant":${JSON.stringify(variant)}`;
    const own = variantMetadata === undefined ? "" : `,"variant":${JSON.stringify(variantMetadata)}`;
    const fields = `{"value":${JSON.stringify(value)}${chosen},"reason":"${reason}"`;
    return keep(this.#fulls, answer, `${this.#key}${fields},"metadata":${metadata}${own}}}`);
  }
}

function keep(texts: Map<Evaluation, string>, answer: Evaluation, text: string): string {
  // Each evaluation of an override is a new object.
  if (answer.reason === "override") return text;
  if (texts.size >= MAX_KEPT) texts.clear();
  texts.set(answer, text);
  return text;
}

const prepared = new WeakMap<Snapshot, readonly FlagPiece[] | "unordered">();

/** Undefined where an object would not have the flags in their order. */
function piecesOf(snapshot: Snapshot): readonly FlagPiece[] | undefined {
  let pieces = prepared.get(snapshot);
  if (pieces === undefined) {
    const isOrdered = ![...snapshot.flags.keys()].some(isIndex);
    pieces = isOrdered ? [...snapshot.flags.values()].map((found) => new FlagPiece(found)) : "unordered";
    prepared.set(snapshot, pieces);
  }
  return pieces === "unordered" ? undefined : pieces;
}

/** Objects have such properties first, in the order of the numbers. */
function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
}
