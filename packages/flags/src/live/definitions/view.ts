/** The definitions that one tenant's evaluations read, at one revision of each layer. */
import { segmentsOf } from "../../engine/conditions.ts";
import type { RuleConditions } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import { ignoredKeys } from "../../server/evaluation/tenant-flags.ts";
import type { SnapshotOverride } from "../../store/snapshot/entities.ts";
import type { TenantSnapshot } from "../../store/snapshot/tenant-snapshot.ts";
import type { LayerNumber } from "./records.ts";

/** A flag with all that its evaluation needs. The members are shared with the snapshot and never change. */
export interface ViewFlag {
  readonly layer: LayerNumber;
  readonly flag: FeatureFlag;
  readonly rules: ReadonlyMap<string, FlagRule> | undefined;
  readonly overrides: ReadonlyMap<string, SnapshotOverride> | undefined;
}

type SegmentMap = ReadonlyMap<string, RuleConditions>;

export interface DefinitionView {
  /** The revisions, with a part of their hashes: two databases with the same position have the same definitions. */
  readonly position: string;
  /** By key. */
  readonly flags: ReadonlyMap<string, ViewFlag>;
  /** Only those that the flags use, by layer and key. */
  readonly segments: readonly [global: SegmentMap, organization: SegmentMap];
}

/** Characters of an audit hash in a position. */
const HASH_LENGTH = 16;

export function createView(global: TenantSnapshot, ofTenant?: TenantSnapshot): DefinitionView {
  const flags = new Map<string, ViewFlag>();
  if (ofTenant !== undefined) {
    const ignored = new Set(ignoredKeys(ofTenant, global));
    for (const key of ofTenant.flags.keys()) if (!ignored.has(key)) addFlag(flags, ofTenant, 1, key);
  }
  for (const key of global.flags.keys()) if (!flags.has(key)) addFlag(flags, global, 0, key);
  return {
    position: [global, ...(ofTenant === undefined ? [] : [ofTenant])].map(positionOf).join("."),
    flags,
    segments: [usedSegments(flags, global, 0), ofTenant ? usedSegments(flags, ofTenant, 1) : NO_SEGMENTS],
  };
}

const NO_SEGMENTS: SegmentMap = new Map();

function positionOf({ revision, auditHash }: TenantSnapshot): string {
  return `${revision}-${auditHash.slice(0, HASH_LENGTH)}`;
}

function addFlag(
  flags: Map<string, ViewFlag>,
  { flags: byKey, contents }: TenantSnapshot,
  layer: LayerNumber,
  key: string,
): void {
  const flag = byKey.get(key)?.flag;
  if (flag === undefined) return;
  flags.set(key, {
    layer,
    flag,
    rules: contents.rules.get(flag.id),
    overrides: contents.overrides.get(flag.id),
  });
}

/** The segments that the flags of a layer use, directly or through other segments. */
function usedSegments(
  flags: ReadonlyMap<string, ViewFlag>,
  { contents }: TenantSnapshot,
  layer: LayerNumber,
): SegmentMap {
  const used = new Map<string, RuleConditions>();
  if (contents.segments.size === 0) return used;
  const byKey = new Map([...contents.segments.values()].map(({ key, conditions }) => [key, conditions]));
  const enter = (key: string): void => {
    const conditions = used.has(key) ? undefined : byKey.get(key);
    if (conditions === undefined) return;
    used.set(key, conditions);
    for (const next of segmentsOf(conditions)) enter(next);
  };
  for (const flag of flags.values()) {
    if (flag.layer === layer) for (const key of segmentsOfRules(flag.rules)) enter(key);
  }
  return used;
}

const NO_KEYS: ReadonlySet<string> = new Set();
/** Rules that did not change are the same map in the next snapshot. */
const knownSegments = new WeakMap<object, ReadonlySet<string>>();

function segmentsOfRules(rules: ViewFlag["rules"]): ReadonlySet<string> {
  if (rules === undefined) return NO_KEYS;
  let keys = knownSegments.get(rules);
  if (keys === undefined) {
    keys = new Set([...rules.values()].flatMap(({ conditions }) => [...segmentsOf(conditions)]));
    knownSegments.set(rules, keys);
  }
  return keys;
}
