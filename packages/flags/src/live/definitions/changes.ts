/** What differs between two views, and the recent differences, by which a process that was away gets only changes. */
import type { LayerNumber, RecordName } from "./records.ts";
import type { DefinitionView, ViewFlag } from "./view.ts";

/** Names the entities that differ. Unchanged entities are the same objects in both views. */
export function changedNames(before: DefinitionView, after: DefinitionView): RecordName[] {
  const names: RecordName[] = [];
  for (const [key, flag] of after.flags) compareFlags(names, key, before.flags.get(key), flag);
  for (const key of before.flags.keys()) if (!after.flags.has(key)) names.push(["f", key]);
  for (const layer of [0, 1] as const) compareSegments(names, layer, before, after);
  return names;
}

function compareFlags(names: RecordName[], key: string, before: ViewFlag | undefined, after: ViewFlag): void {
  const isSame = before?.flag === after.flag && before.rules === after.rules && before.layer === after.layer;
  if (!isSame) names.push(["f", key]);
  // Another flag with this key: its predecessor's overrides go with the flag.
  const known = before?.flag.id === after.flag.id ? before.overrides : undefined;
  if (known === after.overrides) return;
  for (const [userId, override] of after.overrides ?? []) {
    if (known?.get(userId) !== override) names.push(["o", key, userId]);
  }
  for (const userId of known?.keys() ?? []) if (!after.overrides?.has(userId)) names.push(["o", key, userId]);
}

function compareSegments(
  names: RecordName[],
  layer: LayerNumber,
  before: DefinitionView,
  after: DefinitionView,
): void {
  const known = before.segments[layer];
  const current = after.segments[layer];
  for (const [key, conditions] of current) if (known.get(key) !== conditions) names.push(["s", layer, key]);
  for (const key of known.keys()) if (!current.has(key)) names.push(["s", layer, key]);
}

interface Step {
  readonly from: string;
  readonly names: readonly RecordName[];
}

/** A process that is further behind gets the whole set. */
const MAX_STEPS = 1_000;
/** Names in memory for one tenant, about 10 MB. */
const MAX_NAMES = 50_000;

export class Journal {
  /** The oldest first. Each step leads to the next one's `from`, the last one to the current view. */
  readonly #steps: Step[] = [];
  #nameCount = 0;

  add(from: string, names: readonly RecordName[]): void {
    this.#steps.push({ from, names });
    this.#nameCount += names.length;
    while (this.#steps.length > MAX_STEPS || (this.#nameCount > MAX_NAMES && this.#steps.length > 0)) {
      this.#nameCount -= this.#steps.shift()?.names.length ?? 0;
    }
  }

  /** The names of everything that changed since the position, each once; undefined if that is not known. */
  since(position: string): RecordName[] | undefined {
    const first = this.#steps.findIndex(({ from }) => from === position);
    if (first === -1) return undefined;
    const names = new Map<string, RecordName>();
    for (const step of this.#steps.slice(first)) {
      for (const name of step.names) names.set(JSON.stringify(name), name);
    }
    return [...names.values()];
  }
}
