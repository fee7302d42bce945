/** How much of its limits a tenant uses. Measurements are kept by object: entities and maps of a snapshot never change. */
import { costOf } from "../../engine/conditions.ts";
import { ENVIRONMENT_COST, HASH_COST, type Steps } from "../../engine/cost.ts";
import type { Segments } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import { jsonBytes } from "../../model/inputs.ts";
import type { FlagRule } from "../../model/rule.ts";
import { sleep } from "../wait.ts";
import type { Contents, SnapshotOverride } from "./entities.ts";

export interface TenantUsage {
  readonly flags: number;
  /** Flags, rules and segments as JSON, and the values of overrides. */
  readonly bytes: number;
  /** The most that one evaluation of all flags costs, without reading and writing their values. */
  readonly cost: Steps;
}

type Rules = ReadonlyMap<string, FlagRule>;
type Overrides = ReadonlyMap<string, SnapshotOverride>;

const entityBytes = new WeakMap<object, number>();
const overrideBytes = new WeakMap<Overrides, number>();
const ruleCosts = new WeakMap<Rules, { readonly segments: Contents["segments"]; readonly cost: Steps }>();

/** Bytes that are measured before the event loop gets a turn: about a millisecond. */
const SLICE_BYTES = 256 * 1024;

export async function measureUsage({ flags, rules, segments, overrides }: Contents): Promise<TenantUsage> {
  const conditions: Segments = new Map([...segments.values()].map((one) => [one.key, one.conditions]));
  let [bytes, cost, measured] = [0, 0, 0];
  const add = (entity: object): void => {
    const known = entityBytes.get(entity);
    const size = known ?? jsonBytes(entity);
    bytes += size;
    if (known !== undefined) return;
    entityBytes.set(entity, size);
    measured += size;
  };
  for (const segment of segments.values()) add(segment);
  for (const [id, flag] of flags) {
    const ofFlag = rules.get(id) ?? NO_RULES;
    add(flag);
    for (const rule of ofFlag.values()) add(rule);
    bytes += bytesOfOverrides(overrides.get(id) ?? NO_OVERRIDES);
    cost += hashCost(flag) + costOfRules(ofFlag, segments, conditions);
    if (measured < SLICE_BYTES) continue;
    measured = 0;
    await sleep(0);
  }
  return { flags: flags.size, bytes, cost };
}

const NO_RULES: Rules = new Map();
const NO_OVERRIDES: Overrides = new Map();

function bytesOfOverrides(overrides: Overrides): number {
  let bytes = overrideBytes.get(overrides);
  if (bytes !== undefined) return bytes;
  bytes = 0;
  for (const { value } of overrides.values()) bytes += jsonBytes(value);
  overrideBytes.set(overrides, bytes);
  return bytes;
}

function hashCost({ rolloutPercentage, environments, variants = [] }: FeatureFlag): Steps {
  const hasRollout =
    rolloutPercentage !== undefined ||
    Object.values(environments ?? {}).some((settings) => settings.rolloutPercentage !== undefined);
  return (hasRollout ? HASH_COST : 0) + (variants.length > 0 ? HASH_COST : 0);
}

function costOfRules(rules: Rules, segments: Contents["segments"], conditions: Segments): Steps {
  const known = ruleCosts.get(rules);
  if (known?.segments === segments) return known.cost;
  const all = [...rules.values()];
  const hashes = all.filter(({ percentage }) => percentage !== undefined).length;
  const lookUps = all.filter(({ environments }) => environments !== undefined).length;
  const trees = all.map((rule) => rule.conditions);
  const cost = costOf(trees, conditions) + hashes * HASH_COST + lookUps * ENVIRONMENT_COST;
  ruleCosts.set(rules, { segments, cost });
  return cost;
}
