/** Makes the changes of a draft, or the inverse of an audit entry: all of them, or none. */
import type { FeatureFlag } from "../../model/flag.ts";
import type { RevertedAuditEntry, RevertedFeatureFlagChange } from "../../model/plan.ts";
import type { Draft } from "../../model/plan-input.ts";
import type { WithWarnings } from "../../model/warning.ts";
import type { DraftStep, SeenDraft } from "../flag-store.ts";
import { isWaiting, removePlan } from "../plans.ts";
import { notFound } from "../rows/entity.ts";
import { byOrder } from "../rows/rules.ts";
import { withWarnings } from "../rows/warnings.ts";
import { checkDraft } from "./draft.ts";
import { Drafting } from "./drafting.ts";
import { refuseConflicts } from "./drift.ts";
import { digestOf } from "./preview.ts";
import { revertEntry } from "./revert.ts";
import type { Unchanged, WriteContext } from "./write.ts";

export interface Making {
  readonly changeId: string;
  readonly check: (step: DraftStep) => void;
  readonly seen: SeenDraft | undefined;
}

export async function makeDraft(
  context: WriteContext,
  draft: Draft,
  maxOverrides: number,
  { changeId, check, seen }: Making,
): Promise<Unchanged<RevertedFeatureFlagChange>> {
  const { contents } = context;
  if (seen !== undefined) {
    if (!(await isWaiting(context.tx, seen.planId))) throw notFound("plan");
    // Rows of these entities are invalid, which a preview says.
    if (contents === undefined) throw seen.drifted;
    refuseConflicts(contents, seen.touched);
  }
  const { drafting, missingOverrides } = await checkDraft(context, draft, maxOverrides);
  if (seen !== undefined && contents !== undefined) {
    if ((await digestOf(contents, drafting.steps)) !== seen.digest) throw seen.drifted;
  }
  if (seen !== undefined) await removePlan(context.tx, seen.planId);
  await make(context, drafting, check);
  const flags = flagsAfter(drafting, draft);
  return { action: null, result: { changeId, flags, ...(missingOverrides > 0 && { missingOverrides }) } };
}

export async function makeRevert(
  context: WriteContext,
  entryId: string,
  maxOverrides: number,
  check: (step: DraftStep) => void = () => undefined,
): Promise<Unchanged<RevertedAuditEntry>> {
  const drafting = new Drafting(context);
  const missingOverrides = await revertEntry(drafting, entryId, maxOverrides);
  await make(context, drafting, check);
  // The last one is about the entity of the entry.
  const last = drafting.steps.at(-1);
  if (last === undefined) throw notFound("audit entry");
  const { action, flagId, entityId } = last;
  const result = { id: entryId, action, flagId, entityId, ...(missingOverrides > 0 && { missingOverrides }) };
  return { action: null, result };
}

async function make(
  { precede }: WriteContext,
  { steps }: Drafting,
  check: (step: DraftStep) => void,
): Promise<void> {
  for (const step of steps) check(step);
  for (const step of steps) await precede(step);
}

/** Those that the draft names, in its order, and those that it changes. */
function flagsAfter({ contents, steps }: Drafting, draft: Draft): WithWarnings<FeatureFlag>[] {
  const named = "changes" in draft ? draft.changes.map(({ id }) => id) : [];
  const ids = new Set([...named, ...steps.map(({ flagId }) => flagId)]);
  return [...ids].flatMap((id) => {
    const flag = contents?.flags.get(id);
    const rules = [...(contents?.rules.get(id)?.values() ?? [])].sort(byOrder);
    return flag === undefined ? [] : [withWarnings(flag, flag, rules)];
  });
}
