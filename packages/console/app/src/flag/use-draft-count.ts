/** The counts of a flag's screen: of the draft, and of turning the flag on. */
import type { FeatureFlagPlan, FlagImpact } from "../api/types.ts";
import { planOf } from "./draft/changes.ts";
import { edit } from "./draft/draft.ts";
import { settingCell, settingOf } from "./environments.ts";
import { type Count, type PlanInput, planInput, useCount } from "./use-count.ts";
import type { FlagDraft } from "./use-draft.ts";

export interface DraftCount {
  /** What a save plans. */
  readonly input: PlanInput;
  readonly count: Count;
  readonly whenOn: Count | undefined;
}

/** `isShown`: whether a count is shown where there are no changes. */
export function useDraftCount(draft: FlagDraft, isShown: boolean): DraftCount {
  const { stored, environment, changes, problems, touched, next } = draft;
  const { id } = stored.flag;
  const here = environment === undefined ? [] : [environment];
  const input = planInput([planOf(draft.draft, stored)], touched.length > 0 ? touched : here);
  const isComplete = problems.length === 0;
  const isOff = settingOf(next.flag, environment, "enabled").value !== true;
  const hasChanges = changes.length > 0;
  const isCounted = isComplete && (hasChanges || (isShown && !isOff));
  const count = useCount(id, isCounted ? input : undefined);
  const turnedOn = edit(draft.draft, stored, settingCell(environment, "enabled"), true);
  // One preview at a time: a newer one would end the older.
  const isFree = !hasChanges || (count.plan !== undefined && !count.isCounting);
  const isAsked = isShown && isOff && isComplete;
  const whenOn = useCount(
    `${id} on`,
    isAsked && isFree ? planInput([planOf(turnedOn, stored)], here) : undefined,
  );
  return { input, count, whenOn: isAsked ? whenOn : undefined };
}

/** The part of a plan about a flag in an environment; else its first one about the flag. */
export function impactIn(
  { changes }: FeatureFlagPlan,
  flagId: string,
  environment: string | undefined,
): FlagImpact | undefined {
  const ofFlag = changes.filter((one) => one.flagId === flagId);
  return ofFlag.find((one) => one.environment === environment) ?? ofFlag[0];
}
