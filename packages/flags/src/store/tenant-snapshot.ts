/** A tenant's flags as evaluation reads them: made from the database, or from an older snapshot and what changed since. */

import type { CompiledFlag } from "../engine/compile.ts";
import { segmentsOf } from "../engine/conditions.ts";
import type { OverrideDefinition, Segments } from "../engine/definition.ts";
import type { FeatureFlag } from "../model/flag.ts";
import type { FlagRow, OverrideRow, RuleRow } from "../model/tables.ts";
import { readChanges } from "./audit.ts";
import { decodeJson } from "./codec.ts";
import { compile } from "./definition.ts";
import { FLAG_MODEL, toFlag } from "./flags.ts";
import { OVERRIDE_MODEL } from "./overrides.ts";
import { readRevision } from "./revision.ts";
import { type Adapter, findRowsIn, scanRows } from "./rows.ts";
import { byOrder, groupByFlag, RULE_MODEL, type StoredRule, toStoredRule } from "./rules.ts";
import { readSegments } from "./segments.ts";
import type { Snapshot, SnapshotFlag } from "./store.ts";

/** What the database holds cannot be used: no write of ours can have made it. */
export class BadSnapshot extends Error {
  override readonly name = "BadSnapshot";
}

/** Changes beyond which reading everything is quicker than reading what changed. */
const MAX_CHANGES = 500;

/** How often a reader tries to catch up with writers before it makes do with what it has. */
const MAX_ROUNDS = 5;

interface Override extends OverrideDefinition {
  readonly id: string;
  /** `Infinity` for one that does not expire. */
  readonly expiresAtMs: number;
}

interface Entry {
  readonly flag: FeatureFlag;
  readonly rules: readonly StoredRule[];
  /** Undefined until it is known which segments it is compiled with. */
  readonly compiled: CompiledFlag | undefined;
}

/** What was read, not yet compiled and perhaps not all of one revision. Its maps belong to it alone. */
interface Reading {
  readonly revision: number;
  readonly entries: Map<string, Entry>;
  readonly segments: Segments;
  readonly overrides: Map<string, ReadonlyMap<string, Override>>;
}

export class TenantSnapshot implements Snapshot {
  readonly revision: number;
  readonly flags: ReadonlyMap<string, SnapshotFlag>;
  readonly #reading: Reading;

  /** Compiles what has not been compiled; throws `BadSnapshot`. */
  constructor({ revision, entries, segments, overrides }: Reading) {
    this.revision = revision;
    const flags: (readonly [string, SnapshotFlag])[] = [];
    const compiledEntries = new Map<string, Entry>();
    for (const [id, entry] of entries) {
      const { flag, rules } = entry;
      const compiled =
        entry.compiled ?? usable(`the flag "${flag.key}"`, () => compile(flag, rules, segments));
      compiledEntries.set(id, { flag, rules, compiled });
      flags.push([flag.key, { flag, compiled }]);
    }
    this.flags = new Map(flags.sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#reading = { revision, entries: compiledEntries, segments, overrides };
  }

  override(flagId: string, userId: string, nowMs: number): OverrideDefinition | undefined {
    const override = this.#reading.overrides.get(flagId)?.get(userId);
    return override !== undefined && nowMs < override.expiresAtMs ? override : undefined;
  }

  /** A copy to change; everything in it that does not change is shared. */
  copy(): Reading {
    const { revision, entries, segments, overrides } = this.#reading;
    return { revision, segments, entries: new Map(entries), overrides: new Map(overrides) };
  }
}

/**
 * The snapshot of a revision or a later one. Rows are read one table after the other, so the revision is read again at
 * the end, and what has changed meanwhile is added until nothing has.
 */
export async function loadSnapshot(
  adapter: Adapter,
  tenant: string,
  revision: number,
  known?: TenantSnapshot,
): Promise<TenantSnapshot> {
  let reading =
    known === undefined
      ? await readAll(adapter, tenant, revision)
      : await catchUp(adapter, tenant, revision, known.copy());
  for (let round = 1; round < MAX_ROUNDS; round++) {
    const latest = await readRevision(adapter, tenant);
    if (latest === reading.revision) break;
    reading = await catchUp(adapter, tenant, latest, reading);
  }
  return new TenantSnapshot(reading);
}

async function readAll(adapter: Adapter, tenant: string, revision: number): Promise<Reading> {
  const overrides = new Map<string, Map<string, Override>>();
  // Nothing has ever been written: there is nothing to look for.
  if (revision === 0) return { revision, entries: new Map(), segments: new Map(), overrides };
  const segments = await readUsable(() => readSegments(adapter, tenant));
  const stored: StoredRule[] = [];
  for await (const row of scanRows<RuleRow>(adapter, RULE_MODEL, "ruleId", { tenant })) {
    stored.push(usableRule(row));
  }
  const rules = groupByFlag(stored);
  const entries = new Map<string, Entry>();
  for await (const row of scanRows<FlagRow>(adapter, FLAG_MODEL, "flagId", { tenant })) {
    entries.set(row.flagId, toEntry(row, rules.get(row.flagId) ?? []));
  }
  for await (const row of scanRows<OverrideRow>(adapter, OVERRIDE_MODEL, "overrideId", { tenant })) {
    if (!row.enabled) continue;
    const users = overrides.get(row.flagId) ?? new Map<string, Override>();
    overrides.set(row.flagId, users.set(row.userId, usableOverride(row)));
  }
  return { revision, entries, segments, overrides };
}

/** The audit log says what has changed: it has one entry for every revision. */
async function catchUp(
  adapter: Adapter,
  tenant: string,
  revision: number,
  reading: Reading,
): Promise<Reading> {
  const missing = revision - reading.revision;
  if (missing > MAX_CHANGES) return readAll(adapter, tenant, revision);
  const changes = await readChanges(adapter, tenant, { after: reading.revision, upTo: revision });
  if (changes.length !== missing) return readAll(adapter, tenant, revision);

  const flagIds = new Set<string>();
  const overrideIds = new Map<string, string>();
  let segments = reading.segments;
  let segmentsChanged = false;
  for (const { action, flagId, entityId } of changes) {
    if (action.startsWith("segment.")) segmentsChanged = true;
    else if (action.startsWith("override.")) overrideIds.set(entityId, flagId);
    else flagIds.add(flagId);
  }
  await changeFlags(adapter, tenant, reading, [...flagIds]);
  await changeOverrides(adapter, tenant, reading, overrideIds);
  if (segmentsChanged) {
    segments = await readUsable(() => readSegments(adapter, tenant));
    for (const [id, entry] of reading.entries) {
      if (namesSegment(entry)) reading.entries.set(id, { ...entry, compiled: undefined });
    }
  }
  return { ...reading, revision, segments };
}

async function changeFlags(
  adapter: Adapter,
  tenant: string,
  { entries, overrides }: Reading,
  flagIds: readonly string[],
): Promise<void> {
  const ruleRows = await findRowsIn<RuleRow>(adapter, RULE_MODEL, { tenant }, "flagId", flagIds);
  const flagRows = await findRowsIn<FlagRow>(adapter, FLAG_MODEL, { tenant }, "flagId", flagIds);
  const rules = groupByFlag(ruleRows.map(usableRule));
  const gone = new Set(flagIds);
  for (const row of flagRows) {
    gone.delete(row.flagId);
    entries.set(row.flagId, toEntry(row, rules.get(row.flagId) ?? []));
  }
  for (const flagId of gone) {
    entries.delete(flagId);
    overrides.delete(flagId);
  }
}

async function changeOverrides(
  adapter: Adapter,
  tenant: string,
  { entries, overrides }: Reading,
  flagIdsById: ReadonlyMap<string, string>,
): Promise<void> {
  const ids = [...flagIdsById.keys()];
  const rows = await findRowsIn<OverrideRow>(adapter, OVERRIDE_MODEL, { tenant }, "overrideId", ids);
  // All of them go, and those that are still there come back: an override may have changed hands.
  for (const flagId of new Set(flagIdsById.values())) {
    const users = [...(overrides.get(flagId) ?? [])].filter(([, { id }]) => !flagIdsById.has(id));
    const present = rows.filter((row) => row.flagId === flagId && row.enabled);
    const next = new Map([...users, ...present.map((row) => [row.userId, usableOverride(row)] as const)]);
    if (next.size > 0 && entries.has(flagId)) overrides.set(flagId, next);
    else overrides.delete(flagId);
  }
}

function namesSegment({ rules }: Entry): boolean {
  return rules.some(({ rule }) => segmentsOf(rule.conditions).size > 0);
}

function toEntry(row: FlagRow, rules: StoredRule[]): Entry {
  const flag = usable(`the flag "${row.key}"`, () => toFlag(row));
  return { flag, rules: rules.sort(byOrder), compiled: undefined };
}

function usableRule(row: RuleRow): StoredRule {
  return usable(`the rule ${row.ruleId}`, () => toStoredRule(row));
}

function usableOverride(row: OverrideRow): Override {
  return usable(`the override ${row.overrideId}`, () => ({
    id: row.overrideId,
    value: decodeJson(row.value),
    ...(row.variant !== null && { variant: row.variant }),
    expiresAtMs: row.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(row.expiresAt),
  }));
}

function usable<Result>(what: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new BadSnapshot(`What is stored of ${what} cannot be used.`, { cause: error });
  }
}

/** A segment that cannot be decoded is bad data; a database that cannot be read is not. */
async function readUsable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new BadSnapshot("What is stored of a segment cannot be used.", { cause: error });
    }
    throw error;
  }
}
