/** Builds the contents of a snapshot from rows or from an older snapshot, and applies entries of the audit log to them. */
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagSegment } from "../../model/segment.ts";
import type { FlagRow, OverrideRow, RuleRow, SegmentRow } from "../../model/tables.ts";
import { FLAG_MODEL, reviveFlag, toFlag } from "../rows/flags.ts";
import { OVERRIDE_MODEL, reviveOverride, toOverride } from "../rows/overrides.ts";
import { type Adapter, findRows, scanRows } from "../rows/queries.ts";
import { RULE_MODEL, reviveRule, toRule } from "../rows/rules.ts";
import { reviveSegment, SEGMENT_MODEL, toSegment } from "../rows/segments.ts";
import { type ChangeRow, readChanges } from "../writes/audit.ts";
import type { ChainEnd } from "../writes/revision.ts";
import type { Contents, SnapshotOverride } from "./entities.ts";
import { BadSnapshot, decodeStored } from "./errors.ts";

export class ContentsBuilder implements Contents {
  readonly flags: Map<string, FeatureFlag>;
  readonly rules: Map<string, ReadonlyMap<string, FlagRule>>;
  readonly overrides: Map<string, ReadonlyMap<string, SnapshotOverride>>;
  segments: ReadonlyMap<string, FlagSegment>;
  /** Inner maps that this builder has copied. All others are shared with the older snapshot and must not change. */
  readonly #copied = new Set<unknown>();
  /** By flag: users whose override was set by this builder. The others were checked in the older snapshot. */
  readonly changedOverrides: Map<string, Set<string>> = new Map();
  /** Ids of overrides to remove, by flag. The log names no user, so `finish` searches for all of them at once. */
  readonly #removed = new Map<string, Set<string>>();

  constructor(base?: Contents) {
    this.flags = new Map(base?.flags);
    this.rules = new Map(base?.rules);
    this.overrides = new Map(base?.overrides);
    this.segments = base?.segments ?? new Map();
  }

  addFlag(row: FlagRow): void {
    this.flags.set(
      row.flagId,
      decodeStored(`the flag "${row.key}"`, () => toFlag(row)),
    );
  }

  addRule(row: RuleRow): void {
    this.#setRule(decodeStored(`the rule ${row.ruleId}`, () => toRule(row)));
  }

  addOverride(row: OverrideRow): void {
    decodeStored(`the override ${row.overrideId}`, () => this.#setOverride(toOverride(row)));
  }

  addSegments(rows: readonly SegmentRow[]): void {
    const segments = rows.map((row) => decodeStored(`the segment "${row.key}"`, () => toSegment(row)));
    this.segments = new Map(segments.map((segment) => [segment.id, segment]));
  }

  /** Applies one revision. Applying a change that the rows already contain has no effect. */
  apply(change: Omit<ChangeRow, "prevHash" | "hash">): void {
    decodeStored(`revision ${change.revision}`, () => this.#apply(change));
  }

  #apply({ action, flagId, entityId, after }: Omit<ChangeRow, "prevHash" | "hash">): void {
    switch (action) {
      case "flag.created":
      case "flag.updated":
        this.flags.set(entityId, reviveFlag(after));
        break;
      case "flag.deleted":
        this.flags.delete(flagId);
        this.rules.delete(flagId);
        this.overrides.delete(flagId);
        this.#removed.delete(flagId);
        break;
      case "rule.created":
      case "rule.updated":
        this.#setRule(reviveRule(after));
        break;
      case "rule.deleted":
        if (this.rules.get(flagId)?.has(entityId)) this.#writableMap(this.rules, flagId).delete(entityId);
        break;
      case "override.created":
        this.#setOverride(reviveOverride(after));
        break;
      case "override.deleted":
        // Ids are never reused, so a deleted override can be removed after all changes.
        addTo(this.#removed, flagId, entityId);
        break;
      case "segment.created":
      case "segment.updated":
        this.segments = new Map(this.segments).set(entityId, reviveSegment(after));
        break;
      case "segment.deleted": {
        const segments = new Map(this.segments);
        segments.delete(entityId);
        this.segments = segments;
        break;
      }
      default:
        // A newer version may have written another action. The cases above are all that change these entities.
        action satisfies never;
    }
  }

  /** Completes the changes. */
  finish(): void {
    for (const [flagId, ids] of this.#removed) {
      for (const [userId, { id }] of this.overrides.get(flagId) ?? []) {
        if (ids.has(id)) this.#writableMap(this.overrides, flagId).delete(userId);
      }
    }
    this.#removed.clear();
  }

  #setRule(rule: FlagRule): void {
    const { id, flagId, priority } = rule;
    // NaN would break the sort order.
    if (!Number.isFinite(priority))
      throw new BadSnapshot(`The rule ${id} has a priority that is not a number.`);
    this.#writableMap(this.rules, flagId).set(id, rule);
  }

  #setOverride({
    id,
    flagId,
    userId,
    value,
    variant,
    enabled,
    expiresAt,
  }: ReturnType<typeof toOverride>): void {
    if (!enabled) return;
    const expiresAtMs = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    if (Number.isNaN(expiresAtMs))
      throw new BadSnapshot(`The override ${id} has an expiry that is not a valid time.`);
    this.#writableMap(this.overrides, flagId).set(userId, {
      id,
      value,
      ...(variant !== undefined && { variant }),
      expiresAtMs,
    });
    addTo(this.changedOverrides, flagId, userId);
  }

  #writableMap<Value>(maps: Map<string, ReadonlyMap<string, Value>>, id: string): Map<string, Value> {
    const current = maps.get(id);
    if (current instanceof Map && this.#copied.has(current)) return current;
    const copy = new Map(current);
    this.#copied.add(copy);
    maps.set(id, copy);
    return copy;
  }
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

/** Reads the tables one after the other. Concurrent writes may be missing in some of them. */
export async function readRows(adapter: Adapter, tenant: string): Promise<ContentsBuilder> {
  const builder = new ContentsBuilder();
  builder.addSegments(await findRows<SegmentRow>(adapter, SEGMENT_MODEL, { tenant }));
  for await (const row of scanRows<RuleRow>(adapter, RULE_MODEL, "ruleId", { tenant })) builder.addRule(row);
  for await (const row of scanRows<FlagRow>(adapter, FLAG_MODEL, "flagId", { tenant })) builder.addFlag(row);
  for await (const row of scanRows<OverrideRow>(adapter, OVERRIDE_MODEL, "overrideId", { tenant })) {
    builder.addOverride(row);
  }
  return builder;
}

/**
 * Applies every change between two ends of the audit log, so that the builder holds exactly the later revision. Returns
 * false if the log does not connect them: it is of another history, or has a gap.
 */
export async function applyChanges(
  adapter: Adapter,
  tenant: string,
  builder: ContentsBuilder,
  { from, to }: { from: ChainEnd; to: ChainEnd },
): Promise<boolean> {
  let { revision, auditHash } = from;
  for await (const change of readChanges(adapter, tenant, { after: revision, upTo: to.revision })) {
    if (change.revision !== revision + 1 || change.prevHash !== auditHash) return false;
    builder.apply(change);
    revision = change.revision;
    auditHash = change.hash;
  }
  builder.finish();
  return revision === to.revision && auditHash === to.auditHash;
}
