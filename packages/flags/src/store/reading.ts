/** A tenant's flags on their way to a snapshot: read row by row, or taken from an older one, then led through the audit log. */
import type { OverrideDefinition } from "../engine/definition.ts";
import type { FeatureFlag } from "../model/flag.ts";
import type { FlagSegment } from "../model/segment.ts";
import type { FlagRow, OverrideRow, RuleRow, SegmentRow } from "../model/tables.ts";
import { type ChangeRow, readChanges } from "./audit.ts";
import { BadSnapshot, usable } from "./bad-snapshot.ts";
import { FLAG_MODEL, reviveFlag, toFlag } from "./flags.ts";
import { OVERRIDE_MODEL, reviveOverride, toOverride } from "./overrides.ts";
import type { ChainEnd } from "./revision.ts";
import { type Adapter, findRows, scanRows } from "./rows.ts";
import { RULE_MODEL, reviveRule, type StoredRule, toStoredRule } from "./rules.ts";
import { reviveSegment, SEGMENT_MODEL, toSegment } from "./segments.ts";

/** An override as evaluation needs it. */
export interface ReadOverride extends OverrideDefinition {
  readonly id: string;
  /** `Infinity` for one that does not expire. */
  readonly expiresAtMs: number;
}

/** All that a snapshot is made of. Rules by flag and id, overrides by flag and user, the rest by id. */
export interface Contents {
  readonly flags: ReadonlyMap<string, FeatureFlag>;
  readonly rules: ReadonlyMap<string, ReadonlyMap<string, StoredRule>>;
  readonly segments: ReadonlyMap<string, FlagSegment>;
  readonly overrides: ReadonlyMap<string, ReadonlyMap<string, ReadOverride>>;
}

export class Reading implements Contents {
  readonly flags: Map<string, FeatureFlag>;
  readonly rules: Map<string, ReadonlyMap<string, StoredRule>>;
  readonly overrides: Map<string, ReadonlyMap<string, ReadOverride>>;
  segments: ReadonlyMap<string, FlagSegment>;
  /** The inner maps that belong to this reading; it shares all others, and copies one before it changes it. */
  readonly #own = new Set<unknown>();
  /** Users whose override of a flag was set since it was made: all others have been checked, unless the flag has changed. */
  readonly setSince: Map<string, Set<string>> = new Map();
  /** Overrides to remove, by flag. The log names no user, so they are looked for all at once, in the end. */
  readonly #removed = new Map<string, Set<string>>();
  /** Changed rules that were not among the rows: they must turn out to have been deleted meanwhile. */
  readonly #missing = new Map<string, string>();

  constructor(base?: Contents) {
    this.flags = new Map(base?.flags);
    this.rules = new Map(base?.rules);
    this.overrides = new Map(base?.overrides);
    this.segments = base?.segments ?? new Map();
  }

  addFlag(row: FlagRow): void {
    this.flags.set(
      row.flagId,
      usable(`the flag "${row.key}"`, () => toFlag(row)),
    );
  }

  addRule(row: RuleRow): void {
    this.#setRule(usable(`the rule ${row.ruleId}`, () => toStoredRule(row)));
  }

  addOverride(row: OverrideRow): void {
    usable(`the override ${row.overrideId}`, () => this.#setOverride(toOverride(row)));
  }

  addSegments(rows: readonly SegmentRow[]): void {
    const segments = rows.map((row) => usable(`the segment "${row.key}"`, () => toSegment(row)));
    this.segments = new Map(segments.map((segment) => [segment.id, segment]));
  }

  /** Brings it one revision further. Applied to what is already as it says, a change changes nothing. */
  apply(change: ChangeRow): void {
    usable(`revision ${change.revision}`, () => this.#apply(change));
  }

  #apply({ action, flagId, entityId, revision, after }: ChangeRow): void {
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
        for (const [ruleId, owner] of this.#missing) if (owner === flagId) this.#missing.delete(ruleId);
        break;
      case "rule.created":
        // The two things the log does not say are given by when and as what the rule was made.
        this.#setRule({ rule: reviveRule(after), salt: entityId, position: revision });
        break;
      case "rule.updated": {
        const stored = this.rules.get(flagId)?.get(entityId);
        if (stored === undefined) this.#missing.set(entityId, flagId);
        else this.#setRule({ ...stored, rule: reviveRule(after) });
        break;
      }
      case "rule.deleted":
        this.#missing.delete(entityId);
        if (this.rules.get(flagId)?.has(entityId)) this.#ownMap(this.rules, flagId).delete(entityId);
        break;
      case "override.created":
        this.#setOverride(reviveOverride(after));
        break;
      case "override.deleted":
        // Ids are given once, so one that is deleted is gone for good, in whatever order the rows came.
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
        throw new BadSnapshot(`The audit log has an action "${String(action)}" that is not known here.`);
    }
  }

  /** Ends the changes. Says whether nothing that they changed was missing among the rows. */
  settle(): boolean {
    for (const [flagId, ids] of this.#removed) {
      for (const [userId, { id }] of this.overrides.get(flagId) ?? []) {
        if (ids.has(id)) this.#ownMap(this.overrides, flagId).delete(userId);
      }
    }
    this.#removed.clear();
    return this.#missing.size === 0;
  }

  #setRule(stored: StoredRule): void {
    const { id, flagId, priority } = stored.rule;
    // It decides an order, which a value that is no number would throw into disorder.
    if (!Number.isFinite(priority)) throw new BadSnapshot(`The rule ${id} has a priority that is no number.`);
    this.#ownMap(this.rules, flagId).set(id, stored);
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
    if (Number.isNaN(expiresAtMs)) throw new BadSnapshot(`The override ${id} expires at no time there is.`);
    this.#ownMap(this.overrides, flagId).set(userId, {
      id,
      value,
      ...(variant !== undefined && { variant }),
      expiresAtMs,
    });
    addTo(this.setSince, flagId, userId);
  }

  #ownMap<Value>(maps: Map<string, ReadonlyMap<string, Value>>, id: string): Map<string, Value> {
    const current = maps.get(id);
    if (current instanceof Map && this.#own.has(current)) return current;
    const copy = new Map(current);
    this.#own.add(copy);
    maps.set(id, copy);
    return copy;
  }
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

/** One table after the other, so what is written meanwhile may be in it or not. */
export async function readRows(adapter: Adapter, tenant: string): Promise<Reading> {
  const reading = new Reading();
  reading.addSegments(await findRows<SegmentRow>(adapter, SEGMENT_MODEL, { tenant }));
  for await (const row of scanRows<RuleRow>(adapter, RULE_MODEL, "ruleId", { tenant })) reading.addRule(row);
  for await (const row of scanRows<FlagRow>(adapter, FLAG_MODEL, "flagId", { tenant })) reading.addFlag(row);
  for await (const row of scanRows<OverrideRow>(adapter, OVERRIDE_MODEL, "overrideId", { tenant })) {
    reading.addOverride(row);
  }
  return reading;
}

/**
 * Leads a reading through every change from one end of the chain to a later one, which makes it exactly what was there
 * then. False when the log does not lead from the one to the other: another history, or entries that are missing.
 */
export async function follow(
  adapter: Adapter,
  tenant: string,
  reading: Reading,
  { from, to }: { from: ChainEnd; to: ChainEnd },
): Promise<boolean> {
  let { revision, auditHash } = from;
  for await (const change of readChanges(adapter, tenant, { after: revision, upTo: to.revision })) {
    if (change.revision !== revision + 1 || change.prevHash !== auditHash) return false;
    reading.apply(change);
    revision = change.revision;
    auditHash = change.hash;
  }
  return reading.settle() && revision === to.revision && auditHash === to.auditHash;
}
