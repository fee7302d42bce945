/** What differs between two pairs of snapshots, made once for all sessions that go from one to the other. */

import type { Evaluation } from "../engine/definition.ts";
import type { FlagHit } from "../server/evaluation/flags.ts";
import type { FlagLayer, Layers } from "../server/evaluation/layer.ts";
import type { FollowedSnapshot } from "../store/flag-store.ts";
import { differenceOf, type SnapshotDifference } from "../store/snapshot/difference.ts";
import { effectiveLayers, hitIn, positionOf, type Snapshots } from "./layers.ts";
import type { DeletedMessage, LivePosition, SyncMessage, UpdatedMessage } from "./messages.ts";

/** What messages to many sessions share. */
export interface Target {
  readonly layers: Layers<FlagLayer>;
  /** The position that a client has after the messages. */
  readonly at: LivePosition;
  /** The message to a session for which nothing else changed. */
  readonly moved: SyncMessage;
  /** Messages that end a change, by the result. */
  readonly updates: Map<Evaluation, UpdatedMessage>;
  /** The same for flags that no longer exist, by key. */
  readonly deletions: Map<string, DeletedMessage>;
}

export function targetOf(tenant: string, snapshots: Snapshots): Target {
  const at = positionOf(snapshots);
  const layers = effectiveLayers(tenant, snapshots);
  return { layers, at, moved: { at }, updates: new Map(), deletions: new Map() };
}

/** A flag in both pairs. */
export interface Candidate {
  readonly key: string;
  readonly before: FlagHit<FlagLayer> | undefined;
  readonly after: FlagHit<FlagLayer> | undefined;
}

export class Step {
  readonly target: Target;
  /** Flags whose answer may differ for every session. */
  readonly candidates: readonly Candidate[];
  /** Whether no override differs, so that none expires at another time than before. */
  readonly keepsOverrides: boolean;
  readonly #before: Layers<FlagLayer>;
  readonly #differences: readonly SnapshotDifference[];

  constructor(tenant: string, before: Snapshots, after: Snapshots) {
    this.target = targetOf(tenant, after);
    this.#before = effectiveLayers(tenant, before);
    const pairs = [[before.global, after.global] as const];
    if (before.ofTenant !== undefined && after.ofTenant !== undefined)
      pairs.push([before.ofTenant, after.ofTenant]);
    const changed = pairs.filter(([one, other]) => one !== other);
    this.#differences = changed.map(([one, other]) => differenceOf(one, other));
    this.keepsOverrides = changed.every(([one, other]) => haveSameOverrides(one, other));
    const keys = new Set(this.#differences.flatMap((difference) => difference.keys));
    this.candidates = Array.from(keys, (key) => this.#candidate(key));
  }

  /** All candidates for one user: also flags of which only the user's override differs, and further ones. */
  candidatesFor(userId: string | undefined, further: readonly string[]): readonly Candidate[] {
    const keys = new Set(further);
    if (userId !== undefined)
      for (const { overridden } of this.#differences) for (const key of overridden(userId)) keys.add(key);
    for (const { key } of this.candidates) keys.delete(key);
    return keys.size === 0
      ? this.candidates
      : [...this.candidates, ...Array.from(keys, (key) => this.#candidate(key))];
  }

  #candidate(key: string): Candidate {
    return { key, before: hitIn(this.#before, key), after: hitIn(this.target.layers, key) };
  }
}

/** Maps of overrides that did not change are shared between snapshots. */
function haveSameOverrides(
  { contents: one }: FollowedSnapshot,
  { contents: other }: FollowedSnapshot,
): boolean {
  if (one.overrides === other.overrides) return true;
  if (one.overrides.size !== other.overrides.size) return false;
  for (const [flagId, overrides] of one.overrides)
    if (other.overrides.get(flagId) !== overrides) return false;
  return true;
}

/** The last step from each pair: nearly all sessions make the same one. */
const steps = new WeakMap<Snapshots, { readonly after: Snapshots; readonly step: Step }>();

/** Both pairs belong to the tenant. */
export function stepBetween(tenant: string, before: Snapshots, after: Snapshots): Step {
  const known = steps.get(before);
  if (known?.after === after) return known.step;
  const step = new Step(tenant, before, after);
  steps.set(before, { after, step });
  return step;
}
