/** Saves a draft: only with the counts that the person has seen. */
import type { FeatureFlagPlan } from "../../api/types.ts";
import { isSame } from "./cells.ts";

export type Saved = { readonly changeId: string };

/** Makes a plan that is stored, and applies one. */
export interface Plans {
  readonly plan: () => Promise<FeatureFlagPlan>;
  readonly apply: (id: string) => Promise<Saved>;
}

/** `recounted`: nothing was saved, because the counts are others than those that were shown. */
export type Outcome =
  | { readonly kind: "saved"; readonly saved: Saved; readonly plan: FeatureFlagPlan }
  | { readonly kind: "recounted"; readonly plan: FeatureFlagPlan };

/** `shown`: what the person sees beside the button. With an id, it is applied as it is. */
export async function savePlan(shown: FeatureFlagPlan, { plan, apply }: Plans): Promise<Outcome> {
  const stored = shown.id === undefined ? await plan() : shown;
  if (stored.id === undefined || !isSame(figuresOf(stored), figuresOf(shown))) {
    return { kind: "recounted", plan: stored };
  }
  return { kind: "saved", saved: await apply(stored.id), plan: stored };
}

function figuresOf({ changes }: FeatureFlagPlan): unknown {
  return changes.map(({ flagId, environment, moves, unknown }) => [flagId, environment, moves, unknown]);
}
