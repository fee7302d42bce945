/** Loads a tenant's snapshot from the rows, or from the previous snapshot and the audit log, and compiles its flags. */

import type { CompiledFlag } from "../../engine/compile.ts";
import { segmentsOf } from "../../engine/conditions.ts";
import type { OverrideDefinition, Segments } from "../../engine/definition.ts";
import { type FeatureFlag, fitsType } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { Snapshot, SnapshotFlag } from "../flag-store.ts";
import { compile } from "../rows/definition.ts";
import type { Adapter } from "../rows/queries.ts";
import { byOrder } from "../rows/rules.ts";
import { sleep } from "../wait.ts";
import { type ChainEnd, isSameEnd, readRevision } from "../writes/revision.ts";
import { applyChanges, ContentsBuilder, readRows } from "./contents.ts";
import type { Contents, SnapshotOverride } from "./entities.ts";
import { BadSnapshot, decodeStored } from "./errors.ts";

/** With more changes than this, reading all rows is faster than applying the changes. */
const MAX_CHANGES = 500;

/** Attempts to read all rows before a gap in the audit log counts as bad data. */
const MAX_ATTEMPTS = 3;

/** Flags and rules compiled, or overrides checked, before the event loop gets a turn: a few milliseconds. */
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

/** Loads the snapshot of exactly one revision: `end` or a later one. */
export async function loadSnapshot(
  adapter: Adapter,
  tenant: string,
  end: ChainEnd,
  previous?: TenantSnapshot,
): Promise<TenantSnapshot> {
  return (
    (previous && (await loadFromPrevious(adapter, tenant, end, previous))) ?? readAll(adapter, tenant, end)
  );
}

/** Applies the audit log to the previous snapshot. Undefined if that is not possible. */
async function loadFromPrevious(
  adapter: Adapter,
  tenant: string,
  end: ChainEnd,
  previous: TenantSnapshot,
): Promise<TenantSnapshot | undefined> {
  const missing = end.revision - previous.revision;
  if (missing < 0 || missing > MAX_CHANGES) return undefined;
  const builder = new ContentsBuilder(previous.contents);
  try {
    const isComplete = await applyChanges(adapter, tenant, builder, { from: previous, to: end });
    return isComplete ? await finish(end, builder, previous) : undefined;
  } catch (error) {
    // The rows may be valid although the log is not.
    if (error instanceof BadSnapshot) return undefined;
    throw error;
  }
}

/** Reads all rows, then applies the changes that were committed during the read. */
async function readAll(adapter: Adapter, tenant: string, end: ChainEnd): Promise<TenantSnapshot> {
  let from = end;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    // The tenant has no changes, so it has no rows.
    if (from.revision === 0) return finish(from, new ContentsBuilder());
    const builder = await readRows(adapter, tenant);
    const to = await readRevision(adapter, tenant);
    if (isSameEnd(from, to) || (await applyChanges(adapter, tenant, builder, { from, to }))) {
      return finish(to, builder);
    }
    from = to;
  }
  throw new BadSnapshot("The audit log has a gap, so the flags that were read do not match a revision.");
}

/** The snapshot with other entities, of a change that is not made. */
export function changedSnapshot(before: TenantSnapshot, builder: ContentsBuilder): Promise<TenantSnapshot> {
  return finish(before, builder, before);
}

/** Compiles and checks what differs from `previous`, in slices. Throws `BadSnapshot`. */
async function finish(
  end: ChainEnd,
  builder: ContentsBuilder,
  previous?: TenantSnapshot,
): Promise<TenantSnapshot> {
  const before = previous?.contents;
  const segments: Segments = new Map(
    [...builder.segments.values()].map(({ key, conditions }) => [key, conditions]),
  );
  const compiled = new Map<string, CompiledFlag>();
  let work = 0;
  for (const [id, flag] of builder.flags) {
    const rules = builder.rules.get(id);
    const isSame = before?.flags.get(id) === flag && before.rules.get(id) === rules;
    const kept = isSame && (before.segments === builder.segments || !usesSegments(rules));
    const sorted = kept ? [] : [...(rules?.values() ?? [])].sort(byOrder);
    compiled.set(
      id,
      (kept ? previous?.compiled.get(id) : undefined) ??
        decodeStored(`the flag "${flag.key}"`, () => compile(flag, sorted, segments)),
    );
    if (kept) continue;
    work += 1 + sorted.length;
    if (work < COMPILE_SLICE) continue;
    work = 0;
    await sleep(0);
  }
  await checkOverrides(builder, before);
  const { flags, rules, overrides } = builder;
  // A new object, because the builder also holds state that only building needs.
  return new TenantSnapshot(end, { flags, rules, segments: builder.segments, overrides }, compiled);
}

function usesSegments(rules: ReadonlyMap<string, FlagRule> | undefined): boolean {
  for (const { conditions } of rules?.values() ?? []) if (segmentsOf(conditions).size > 0) return true;
  return false;
}

/** The value and the variant of an override must fit its flag. */
async function checkOverrides(builder: ContentsBuilder, before: Contents | undefined): Promise<void> {
  let work = 0;
  for (const [flagId, overrides] of builder.overrides) {
    const flag = builder.flags.get(flagId);
    // An override without its flag is never evaluated.
    if (flag === undefined) continue;
    const isSame = before?.flags.get(flagId) === flag;
    for (const userId of isSame ? (builder.changedOverrides.get(flagId) ?? []) : overrides.keys()) {
      const override = overrides.get(userId);
      if (override !== undefined) requireFitting(flag, override);
      work += 1;
      if (work < CHECK_SLICE) continue;
      work = 0;
      await sleep(0);
    }
  }
}

function requireFitting({ key, type, variants = [] }: FeatureFlag, override: SnapshotOverride): void {
  const { id, value, variant } = override;
  if (fitsType(type, value) && (variant === undefined || variants.some(({ key }) => key === variant))) return;
  throw new BadSnapshot(`The override ${id} has a value or a variant that does not fit the flag "${key}".`);
}
