/** The snapshots that a session's flags come from, and the answers that they give. */
import type { Evaluation } from "../engine/definition.ts";
import { NO_TENANT } from "../model/flag.ts";
import { type FlagHit, findInLayers, type Layer, layersOf, overrideFor } from "../server/evaluation/flags.ts";
import type { ContextPair } from "../server/evaluation/trusted-subject.ts";
import type { FollowedSnapshot } from "../store/flag-store.ts";
import { differenceOf, expiredKeys, nextExpiry } from "../store/snapshot/difference.ts";
import type { LivePosition } from "./messages.ts";

/** The global snapshot, and the organization's if the session has one. */
export interface Snapshots {
  readonly global: FollowedSnapshot;
  readonly ofTenant: FollowedSnapshot | undefined;
}

export interface Answer {
  readonly hit: FlagHit;
  readonly evaluation: Evaluation;
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

/** The layers as evaluation reads them. */
export function effectiveLayers(tenant: string, { global, ofTenant }: Snapshots): readonly Layer[] {
  const globalLayer = { tenant: NO_TENANT, snapshot: global };
  return ofTenant === undefined ? [globalLayer] : layersOf([{ tenant, snapshot: ofTenant }, globalLayer]);
}

/** Undefined for a flag that does not exist, or that only server code may read. */
export function answerOf(
  layers: readonly Layer[],
  { context, globalContext }: ContextPair,
  key: string,
  nowMs: number,
): Answer | undefined {
  const hit = findInLayers(layers, key, false);
  if (hit === undefined) return undefined;
  const { layer, found } = hit;
  const layerContext = layer.tenant === NO_TENANT ? globalContext : context;
  const override = overrideFor(layer, found, layerContext, nowMs);
  return { hit, evaluation: found.compiled.evaluate(layerContext, override) };
}

/** Whether a client that shows one answer need not be told the other. */
export function isSameAnswer(one: Answer | undefined, other: Answer | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const [before, after] = [one.evaluation, other.evaluation];
  if (before.variant !== after.variant) return false;
  if (before.value === after.value) return true;
  return typeof after.value === "object" && JSON.stringify(before.value) === JSON.stringify(after.value);
}

/** Keys of flags whose answer may differ for the user between two pairs of snapshots of the same tenant. */
export function candidatesBetween(
  before: Snapshots,
  after: Snapshots,
  userId: string | undefined,
): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const [one, other] of [
    [before.global, after.global],
    [before.ofTenant, after.ofTenant],
  ] as const) {
    if (one === other || one === undefined || other === undefined) continue;
    const difference = differenceOf(one, other);
    for (const key of difference.keys) keys.add(key);
    if (userId !== undefined) for (const key of difference.overridden(userId)) keys.add(key);
  }
  return keys;
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
