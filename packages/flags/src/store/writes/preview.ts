/** What changes would do, without making them: for plans, which evaluate the tenant's flags before and after. */
import { uuidv7 } from "@halyard/base";
import { segmentsOf } from "../../engine/conditions.ts";
import type { RuleConditions } from "../../engine/definition.ts";
import { MAX_JSON_DEPTH } from "../../engine/json.ts";
import { follow } from "../../engine/references.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import type { Draft } from "../../model/plan-input.ts";
import type { DraftPreview } from "../flag-store.ts";
import { toFlagDefinition } from "../rows/definition.ts";
import type { Adapter } from "../rows/queries.ts";
import { byOrder } from "../rows/rules.ts";
import { sha256 } from "../sha256.ts";
import type { Contents } from "../snapshot/entities.ts";
import { changedSnapshot, type TenantSnapshot } from "../snapshot/tenant-snapshot.ts";
import { checkDraft } from "./draft.ts";
import { touchedBy } from "./drift.ts";
import { requireRoom } from "./tenant-limits.ts";
import type { AuditedChange } from "./write.ts";
import { keysUsing } from "./write-segments.ts";

/** Throws as the write would. `before` is the tenant's snapshot. */
export async function previewDraft(
  adapter: Adapter,
  tenant: string,
  draft: Draft,
  { before, maxOverrides, now }: { before: TenantSnapshot; maxOverrides: number; now: Date },
): Promise<DraftPreview> {
  const context = {
    tx: adapter,
    tables: undefined,
    tenant,
    contents: before.contents,
    at: now,
    now,
    revision: () => before.revision + 1,
    newId: uuidv7,
    sweep: async () => undefined,
    precede: async () => undefined,
  };
  const { drafting } = await checkDraft(context, draft, maxOverrides);
  const { steps, contents } = drafting;
  if (contents === undefined) throw new Error("A draft of entities that are known has contents.");
  await requireRoom(before.contents, contents);
  return {
    before,
    after: await changedSnapshot(before, contents),
    steps,
    reached: [...new Set([...named(draft), ...reachedBy(before.contents, steps)])],
    touched: "changes" in draft ? touchedBy(before.contents, draft.changes) : [],
    digest: await digestOf(before.contents, steps),
  };
}

function named(draft: Draft): string[] {
  return "changes" in draft ? draft.changes.flatMap(({ kind, id }) => (kind === "flag" ? [id] : [])) : [];
}

/** Ids of the flags whose answers the changes may change: their own, and those that use a changed segment. */
function reachedBy(contents: Contents, steps: readonly AuditedChange[]): Set<string> {
  const reached = new Set(steps.map(({ flagId }) => flagId).filter((id) => id !== ""));
  const changed = steps.filter(({ flagId }) => flagId === "").map(({ entityId }) => entityId);
  const keys = changed.flatMap((id) => contents.segments.get(id)?.key ?? []);
  const segments = segmentsIn(contents);
  const using = new Set(keys.flatMap((key) => [...keysUsing(key, segments)]));
  if (using.size === 0) return reached;
  for (const [flagId, rules] of contents.rules) {
    for (const { conditions } of rules.values()) {
      for (const key of segmentsOf(conditions)) if (using.has(key)) reached.add(flagId);
    }
  }
  return reached;
}

/** Of everything that decides what the flags answer which the changes reach. Names and notes are not in it. */
export async function digestOf(contents: Contents, steps: readonly AuditedChange[]): Promise<string> {
  const segments = segmentsIn(contents);
  const deciding = [...reachedBy(contents, steps)].sort().map((id) => {
    const flag = contents.flags.get(id);
    const rules = [...(contents.rules.get(id)?.values() ?? [])].sort(byOrder);
    const trees = rules.map(({ conditions }) => conditions);
    const reach = follow(trees, segments);
    const used = "problem" in reach ? [] : [...reach.segments].sort();
    const overrides = [...(contents.overrides.get(id) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    return [
      id,
      flag && toFlagDefinition(flag, rules),
      used.map((key) => [key, segments.get(key)]),
      overrides.map(([user, { value, variant, expiresAtMs }]) => [user, value, variant, expiresAtMs]),
    ];
  });
  return sha256(canonicalJson(deciding, 2 * MAX_JSON_DEPTH));
}

function segmentsIn(contents: Contents): Map<string, RuleConditions> {
  return new Map([...contents.segments.values()].map(({ key, conditions }) => [key, conditions]));
}
