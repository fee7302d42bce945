/** The snapshots that a session's flags come from, and the answers that they give. */

import type { Evaluation, EvaluationContext } from "../engine/definition.ts";
import { NO_TENANT } from "../model/flag.ts";
import { type FlagHit, findInLayers, layersOf, overrideFor } from "../server/evaluation/flags.ts";
import type { FlagLayer, Layers } from "../server/evaluation/layer.ts";
import type { FollowedSnapshot } from "../store/flag-store.ts";
import { expiredKeys, nextExpiry } from "../store/snapshot/difference.ts";
import type { LivePosition } from "./messages.ts";

/** The global snapshot, and the organization's if the session has one. */
export interface Snapshots {
  readonly global: FollowedSnapshot;
  readonly ofTenant: FollowedSnapshot | undefined;
}

export function isSameSnapshots(one: Snapshots, other: Snapshots): boolean {
  return one.global === other.global && one.ofTenant === other.ofTenant;
}

export function positionOf({ global, ofTenant }: Snapshots): LivePosition {
  if (ofTenant === undefined) return [markOf([global.auditHash]), global.revision];
  return [markOf([global.auditHash, ofTenant.auditHash]), global.revision, ofTenant.revision];
}

/** Hexadecimal digits of a hash in a mark. The mark is in every pushed message, so it is short. */
const MARK_DIGITS = 4;

/** A number for the histories with these audit hashes. Other changes with the same revisions have another mark. */
export function markOf(hashes: readonly string[]): number {
  return hashes.reduce((mark, hash) => mark ^ Number.parseInt(`0${hash.slice(0, MARK_DIGITS)}`, 16), 0);
}

/** The layers as evaluation reads them. All of them have the context of the session, which claims nothing. */
export function effectiveLayers(tenant: string, { global, ofTenant }: Snapshots): Layers<FlagLayer> {
  const globalLayer = { tenant: NO_TENANT, snapshot: global };
  return ofTenant === undefined ? [globalLayer] : layersOf({ tenant, snapshot: ofTenant }, globalLayer);
}

/** Undefined for a flag that does not exist, or that only server code may read. */
export function hitIn(layers: Layers<FlagLayer>, key: string): FlagHit<FlagLayer> | undefined {
  return findInLayers(layers, key, false);
}

export function evaluate(
  { layer, found }: FlagHit<FlagLayer>,
  context: EvaluationContext,
  nowMs: number,
): Evaluation {
  return found.compiled.evaluate(context, overrideFor(layer, found, context, nowMs));
}

/** Whether a client that shows one result need not be told the other. */
export function isSameResult(before: Evaluation | undefined, after: Evaluation | undefined): boolean {
  if (before === undefined || after === undefined || before === after) return before === after;
  if (before.variant !== after.variant) return false;
  if (before.value === after.value) return true;
  return typeof after.value === "object" && JSON.stringify(before.value) === JSON.stringify(after.value);
}

/** When the next override of the user expires, in wall-clock time. */
export function nextExpiryOf(
  { global, ofTenant }: Snapshots,
  userId: string | undefined,
  afterMs: number,
): number {
  if (userId === undefined) return Number.POSITIVE_INFINITY;
  const ofGlobal = nextExpiry(global, userId, afterMs);
  return ofTenant === undefined ? ofGlobal : Math.min(ofGlobal, nextExpiry(ofTenant, userId, afterMs));
}

/** Keys of flags whose override for the user has expired in this time. */
export function expiredIn(
  { global, ofTenant }: Snapshots,
  userId: string | undefined,
  range: { readonly afterMs: number; readonly upToMs: number },
): string[] {
  if (userId === undefined) return [];
  const keys = expiredKeys(global, userId, range);
  return ofTenant === undefined ? keys : [...keys, ...expiredKeys(ofTenant, userId, range)];
}
