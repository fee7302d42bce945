/** Saves the draft of a flag in one transaction, and takes a save back. */
import {
  queryOptions,
  skipToken,
  type UseMutationResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useState } from "react";
import { ADMIN, scoped } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { FeatureFlagPlan, PlannedFlagChange } from "../api/types.ts";
import { texts } from "../texts.ts";
import { messageOf } from "../ui/states.tsx";
import { savePlan } from "./draft/save.ts";
import { applyPlan, type Count, makePlan, type PlanInput, planKey } from "./use-count.ts";

/** What a save did, for as long as the screen says so. */
export interface Done {
  readonly where: string | undefined;
  readonly moved: number | undefined;
  /** Absent: it cannot be taken back in one step. */
  readonly changeId?: string;
}

export const doneQuery = (flagId: string) =>
  queryOptions<Done | null>({
    queryKey: ["done", flagId],
    queryFn: skipToken,
    initialData: null,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const savingKey = (flagId: string): readonly string[] => ["save", flagId];

const CHANGED = ["flags", "flag", "rules", "segments", "overrides", "entries", "explain", "person", "plan"];

/** Everything that may show what was changed is read again. */
export function useRefresh(): () => Promise<unknown> {
  const client = useQueryClient();
  return () => Promise.all(CHANGED.map((name) => client.invalidateQueries({ queryKey: [name] })));
}

export type SavedResult = {
  readonly kind: "saved";
  readonly changeId?: string;
  /** Undefined: they could not be counted. */
  readonly moved: number | undefined;
};
export type SaveResult =
  | SavedResult
  /** Nothing was saved: the count is another one than the one that was shown, or was not there yet. */
  | { readonly kind: "recounted" };

export type Save = UseMutationResult<SaveResult, Error, { input: PlanInput; count: Count }>;

interface SaveOptions {
  /** Makes the change where people cannot be counted. */
  readonly saveUncounted: () => Promise<unknown>;
  /** Also called if the part of the screen that saved is gone. */
  readonly onSaved: (saved: SavedResult) => void;
}

/** `subject`: what is counted. */
export function useSave(subject: string, { saveUncounted, onSaved }: SaveOptions): Save {
  const client = useQueryClient();
  const refresh = useRefresh();
  return useMutation({
    mutationKey: savingKey(subject),
    mutationFn: async ({ input, count }): Promise<SaveResult> => {
      const show = async (plan: FeatureFlagPlan): Promise<SaveResult> => {
        // A preview of the same on its way would take the place of the plan.
        await client.cancelQueries({ queryKey: ["plan", subject] });
        client.setQueryData(planKey(subject, JSON.stringify(input)), plan);
        return { kind: "recounted" };
      };
      const plan = () => makePlan(input);
      if (count.plan === undefined || count.isCounting) {
        // The screen has said why people could not be counted. A count that works now is shown first.
        const made = await plan().catch((error: Error) => {
          if (isRefusal(error)) throw error;
        });
        if (made !== undefined) return show(made);
        await saveUncounted();
        return { kind: "saved", moved: undefined };
      }
      const outcome = await savePlan(count.plan, { plan, apply: applyPlan });
      if (outcome.kind === "recounted") return show(outcome.plan);
      return { kind: "saved", changeId: outcome.saved.changeId, moved: movedBy(outcome.plan) };
    },
    onSuccess: (result) => {
      if (result.kind === "recounted") return undefined;
      onSaved(result);
      return refresh();
    },
    onError: (error) => (isStatus(error, 409) || isStatus(error, 404) ? refresh() : undefined),
  });
}

/** The server has judged the change itself, so that it would refuse it without a count, too. */
function isRefusal(error: Error): boolean {
  return [400, 401, 403, 404, 409, 422].some((status) => isStatus(error, status));
}

/** In the environment in which most people move. */
function movedBy({ changes }: FeatureFlagPlan): number {
  return Math.max(0, ...changes.map(({ moved }) => moved));
}

export function saveProblem(error: Error | null): string | undefined {
  if (error === null) return undefined;
  return isStatus(error, 409) ? texts.draft.changedMeanwhile : messageOf(error);
}

/** Takes a save back. It is refused if others have changed the same since. */
export function useUndo(flagId: string) {
  const refresh = useRefresh();
  const client = useQueryClient();
  const { data: done } = useQuery(doneQuery(flagId));
  const [refused, setRefused] = useState<Error>();
  const undo = useMutation({
    mutationFn: revertChange,
    onSuccess: async () => {
      client.setQueryData(doneQuery(flagId).queryKey, null);
      await refresh();
    },
    onError: setRefused,
  });
  const dismiss = (): void => {
    setRefused(undefined);
    client.setQueryData(doneQuery(flagId).queryKey, null);
  };
  return { done: done ?? undefined, undo, refused, dismiss };
}

export const revertChange = (changeId: string) =>
  request("POST", `${ADMIN}/changes/${changeId}/revert`, { query: scoped({}), body: {} });

/** Without a plan: one request for the flag, and one for each of its rules. Each is refused if it was changed since. */
export async function saveWithoutPlan(change: PlannedFlagChange): Promise<void> {
  const { flagId, version, fields, rules = {} } = change;
  const path = `${ADMIN}/flags/${flagId}` as const;
  if (fields !== undefined) await request("PATCH", path, { body: fields, version });
  for (const rule of rules.create ?? []) await request("POST", `${path}/rules`, { body: rule });
  for (const rule of rules.update ?? [])
    await request("PATCH", `${path}/rules/${rule.id}`, { body: rule.fields, version: rule.version });
  for (const rule of rules.delete ?? []) {
    const { id, version: seen } = typeof rule === "string" ? { id: rule, version: undefined } : rule;
    await request("DELETE", `${path}/rules/${id}`, { version: seen });
  }
}
