/** A tenant's flags as evaluation reads them: made from the database, or from an older snapshot and what changed since. */

import type { CompiledFlag } from "../engine/compile.ts";
import { segmentsOf } from "../engine/conditions.ts";
import type { OverrideDefinition, Segments } from "../engine/definition.ts";
import { type FeatureFlag, fitsType } from "../model/flag.ts";
import { BadSnapshot, usable } from "./bad-snapshot.ts";
import { compile } from "./definition.ts";
import { type Contents, follow, Reading, type ReadOverride, readRows } from "./reading.ts";
import { type ChainEnd, isSameEnd, readRevision } from "./revision.ts";
import type { Adapter } from "./rows.ts";
import { byOrder, type StoredRule } from "./rules.ts";
import type { Snapshot, SnapshotFlag } from "./store.ts";
import { sleep } from "./wait.ts";

/** Changes beyond which reading everything is quicker than reading what changed. */
const MAX_CHANGES = 500;

/** How often everything is read before it counts as bad that the log does not lead from one reading to the next. */
const MAX_READINGS = 3;

/** Flags and rules compiled, or overrides checked, before others get their turn: a few milliseconds' work. */
const COMPILE_SLICE = 400;
const CHECK_SLICE = 20_000;

export class TenantSnapshot implements Snapshot, ChainEnd {
  readonly revision: number;
  readonly auditHash: string;
  readonly flags: ReadonlyMap<string, SnapshotFlag>;
  readonly contents: Contents;
  /** By the flag's id. */
  readonly compiled: ReadonlyMap<string, CompiledFlag>;

  constructor(
    { revision, auditHash }: ChainEnd,
    contents: Contents,
    compiled: ReadonlyMap<string, CompiledFlag>,
  ) {
    this.revision = revision;
    this.auditHash = auditHash;
    this.contents = contents;
    this.compiled = compiled;
    const flags: (readonly [string, SnapshotFlag])[] = [];
    for (const [id, flag] of contents.flags) {
      const ready = compiled.get(id);
      if (ready !== undefined) flags.push([flag.key, { flag, compiled: ready, counter: undefined }]);
    }
    this.flags = new Map(flags.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  override(flagId: string, userId: string, nowMs: number): OverrideDefinition | undefined {
    const override = this.contents.overrides.get(flagId)?.get(userId);
    return override !== undefined && nowMs < override.expiresAtMs ? override : undefined;
  }
}

/** The snapshot of one revision exactly: the one that `end` names, or a later one. */
export async function loadSnapshot(
  adapter: Adapter,
  tenant: string,
  end: ChainEnd,
  known?: TenantSnapshot,
): Promise<TenantSnapshot> {
  return (known && (await following(adapter, tenant, end, known))) ?? readAll(adapter, tenant, end);
}

/** The audit log says what has changed: it has one entry for every revision, with what the change left. */
async function following(
  adapter: Adapter,
  tenant: string,
  end: ChainEnd,
  known: TenantSnapshot,
): Promise<TenantSnapshot | undefined> {
  const missing = end.revision - known.revision;
  if (missing < 0 || missing > MAX_CHANGES) return undefined;
  const reading = new Reading(known.contents);
  try {
    const isThere = await follow(adapter, tenant, reading, { from: known, to: end });
    return isThere ? await finish(end, reading, known) : undefined;
  } catch (error) {
    // The rows may be good where the log is not, or have been mended since.
    if (error instanceof BadSnapshot) return undefined;
    throw error;
  }
}

/** What is written while the rows are read may be in them or not; the log, up to where it is afterwards, settles that. */
async function readAll(adapter: Adapter, tenant: string, end: ChainEnd): Promise<TenantSnapshot> {
  let from = end;
  for (let attempt = 0; attempt < MAX_READINGS; attempt++) {
    // Nothing has ever been written: there is nothing to look for.
    if (from.revision === 0) return finish(from, new Reading());
    const reading = await readRows(adapter, tenant);
    const to = await readRevision(adapter, tenant);
    if (isSameEnd(from, to) || (await follow(adapter, tenant, reading, { from, to }))) {
      return finish(to, reading);
    }
    from = to;
  }
  throw new BadSnapshot("The audit log does not say what has changed while the flags were read.");
}

/** Compiles and checks what is not the same in `known`, a slice at a time; throws `BadSnapshot`. */
async function finish(end: ChainEnd, reading: Reading, known?: TenantSnapshot): Promise<TenantSnapshot> {
  const before = known?.contents;
  const segments: Segments = new Map(
    [...reading.segments.values()].map(({ key, conditions }) => [key, conditions]),
  );
  const compiled = new Map<string, CompiledFlag>();
  let work = 0;
  for (const [id, flag] of reading.flags) {
    const rules = reading.rules.get(id);
    const isSame = before?.flags.get(id) === flag && before.rules.get(id) === rules;
    const kept = isSame && (before.segments === reading.segments || !nameSegments(rules));
    const sorted = kept ? [] : [...(rules?.values() ?? [])].sort(byOrder);
    compiled.set(
      id,
      (kept ? known?.compiled.get(id) : undefined) ??
        usable(`the flag "${flag.key}"`, () => compile(flag, sorted, segments)),
    );
    if (kept) continue;
    work += 1 + sorted.length;
    if (work < COMPILE_SLICE) continue;
    work = 0;
    await sleep(0);
  }
  await checkOverrides(reading, before);
  const { flags, rules, overrides } = reading;
  // Not the reading itself, which remembers what only its making needed.
  return new TenantSnapshot(end, { flags, rules, segments: reading.segments, overrides }, compiled);
}

function nameSegments(rules: ReadonlyMap<string, StoredRule> | undefined): boolean {
  for (const { rule } of rules?.values() ?? []) if (segmentsOf(rule.conditions).size > 0) return true;
  return false;
}

/** An override answers for its flag, so it owes it what a rule does. */
async function checkOverrides(reading: Reading, before: Contents | undefined): Promise<void> {
  let work = 0;
  for (const [flagId, overrides] of reading.overrides) {
    const flag = reading.flags.get(flagId);
    // Without its flag, nobody can ask for it.
    if (flag === undefined) continue;
    const isSame = before?.flags.get(flagId) === flag;
    for (const userId of isSame ? (reading.setSince.get(flagId) ?? []) : overrides.keys()) {
      const override = overrides.get(userId);
      if (override !== undefined) requireFitting(flag, override);
      work += 1;
      if (work < CHECK_SLICE) continue;
      work = 0;
      await sleep(0);
    }
  }
}

function requireFitting({ key, type, variants = [] }: FeatureFlag, override: ReadOverride): void {
  const { id, value, variant } = override;
  if (fitsType(type, value) && (variant === undefined || variants.some(({ key }) => key === variant))) return;
  throw new BadSnapshot(`The override ${id} has a value or variant that the flag "${key}" does not have.`);
}
