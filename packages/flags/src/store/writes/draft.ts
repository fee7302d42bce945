/** Checks the changes of a plan, and makes the steps that a write of them takes. */
import type { FeatureFlag } from "../../model/flag.ts";
import type { Draft, DraftChange, DraftFlagChange, DraftSegmentChange } from "../../model/plan-input.ts";
import type { FlagRule } from "../../model/rule.ts";
import { isSame, notFound, requireVersion } from "../rows/entity.ts";
import { patchFlag } from "../rows/flags.ts";
import { byOrder, patchRule } from "../rows/rules.ts";
import { Drafting } from "./drafting.ts";
import { revertChange } from "./revert.ts";
import type { WriteContext } from "./write.ts";
import { createOverride, deleteOverride } from "./write-overrides.ts";
import { changeRuled, type RuledFlag } from "./write-ruled.ts";
import { addedRule, storedRuled } from "./write-rules.ts";
import { updateSegment } from "./write-segments.ts";

/** Throws as the writes of the draft would. */
export async function checkDraft(
  context: WriteContext,
  draft: Draft,
  maxOverrides: number,
): Promise<{ readonly drafting: Drafting; readonly missingOverrides: number }> {
  const drafting = new Drafting(context);
  if ("revert" in draft) {
    return { drafting, missingOverrides: await revertChange(drafting, draft.revert, maxOverrides) };
  }
  await checkChanges(drafting, draft.changes, maxOverrides);
  return { drafting, missingOverrides: 0 };
}

async function checkChanges(
  drafting: Drafting,
  changes: readonly DraftChange[],
  maxOverrides: number,
): Promise<void> {
  const { context } = drafting;
  const flags = changes.filter((change): change is DraftFlagChange => change.kind === "flag");
  const segments = changes.filter((change): change is DraftSegmentChange => change.kind === "segment");
  for (const { id: flagId, overrides } of flags) {
    for (const id of overrides.delete) {
      const change = await deleteOverride(context, id);
      if (change.flagId !== flagId) throw notFound("override");
      drafting.add(change);
    }
  }
  for (const { id, fields, version } of segments) {
    const change = await updateSegment(context, id, fields, version);
    if (change.action !== null) drafting.add(change);
  }
  for (const change of flags) {
    const before = await storedRuled(context, change.id);
    drafting.add(...(await changeRuled(context, before, patchRuled(context, before, change))));
  }
  for (const { id: flagId, overrides } of flags) {
    for (const input of overrides.create) {
      drafting.add(await createOverride(context, { ...input, flagId }, maxOverrides));
    }
  }
}

function patchRuled(
  context: WriteContext,
  { flag: stored, rules }: RuledFlag,
  { version, fields, rules: changes }: DraftFlagChange,
): RuledFlag {
  requireVersion("flag", stored, version);
  const flag = changedOnly(stored, patchFlag(stored, fields, context.at), fields);
  const updates = new Map(changes.update.map((update) => [update.id, update]));
  const dropped = new Set(changes.delete.map(({ id }) => id));
  for (const { id, version } of [...changes.update, ...changes.delete]) {
    const rule = rules.find((one) => one.id === id);
    if (rule === undefined) throw notFound("rule");
    requireVersion("rule", rule, version);
  }
  const after = rules.filter(({ id }) => !dropped.has(id)).map((rule) => updated(rule, flag));
  for (const input of changes.create) after.push(addedRule(context, { flag, rules: after }, input));
  return { flag, rules: after.sort(byOrder) };

  function updated(rule: FlagRule, of: FeatureFlag): FlagRule {
    const update = updates.get(rule.id);
    if (update === undefined) return rule;
    return changedOnly(rule, patchRule(of, rule, update.fields, context.at), update.fields);
  }
}

/** The stored entity itself if the patch leaves every field as it was. */
function changedOnly<Entity extends object>(before: Entity, after: Entity, patch: object): Entity {
  return isSame(before, after, patch) ? before : after;
}
