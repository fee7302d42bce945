/** Counts whom changes move while they are edited: by plans that store nothing. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ADMIN, REPORT_KEPT_MS, scoped } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { FeatureFlagPlan, FlagImpact, PlanFeatureFlagsInput } from "../api/types.ts";
import { settingCell, settingOf } from "./environments.ts";
import type { FlagDraft } from "./use-draft.ts";

/** The pause after the last edit. */
const PAUSE_MS = 400;
const MOST_ENVIRONMENTS = 10;
const MOST_RETRIES = 5;

export type PlanInput = Pick<PlanFeatureFlagsInput, "changes" | "revert" | "environments">;

export interface Count {
  /** The newest count, also while the next one is made. */
  readonly plan: FeatureFlagPlan | undefined;
  readonly isCounting: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
}

export function planInput(changes: PlanInput["changes"], environments: readonly string[]): PlanInput {
  return {
    changes,
    ...(environments.length > 0 && { environments: environments.slice(0, MOST_ENVIRONMENTS) }),
  };
}

export function makePlan(input: PlanInput, preview?: AbortSignal): Promise<FeatureFlagPlan> {
  return request("POST", `${ADMIN}/plans`, {
    query: scoped({}),
    body: { ...input, ...(preview && { preview: true }) },
    signal: preview,
  });
}

export const applyPlan = (id: string) =>
  request("POST", `${ADMIN}/plans/${id}/apply`, { query: scoped({}), body: {} });

/** Where the count of an input is kept. `subject`: a count of another one is never shown in its place. */
export const planKey = (subject: string, text: string | undefined) => ["plan", subject, text] as const;

/** Undefined: there is nothing to count. */
export function useCount(subject: string, input: PlanInput | undefined): Count {
  const client = useQueryClient();
  const text = input && JSON.stringify(input);
  const paused = usePaused(text);
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey: planKey(subject, paused),
    queryFn: ({ signal }) => makePlan(JSON.parse(paused ?? "{}"), signal),
    enabled: paused !== undefined,
    placeholderData: (plan, query) => (query?.queryKey[1] === subject ? keepPreviousData(plan) : undefined),
    staleTime: REPORT_KEPT_MS,
    gcTime: 60_000,
    // Another window of the same person counts, too.
    retry: (failures, failure) =>
      failures < MOST_RETRIES && isStatus(failure, 409) && isSuperseded(failure.details),
  });
  const isOld = paused !== text;
  const isOutdated = isStatus(error, 404) || isStatus(error, 409);
  useEffect(() => {
    // What was counted is not what is stored any more.
    if (isOutdated)
      for (const name of ["flag", "rules", "segments"]) void client.invalidateQueries({ queryKey: [name] });
  }, [isOutdated, client]);
  return {
    plan: input === undefined ? undefined : data,
    isCounting: input !== undefined && (isOld || isFetching || isPlaceholderData),
    error: isOld || isFetching ? null : error,
    retry: () => void refetch(),
  };
}

function isSuperseded(details: unknown): boolean {
  return typeof details === "object" && details !== null && "superseded" in details;
}

/** What was given, once it has been the same for a moment. The first one at once. */
function usePaused(text: string | undefined): string | undefined {
  const [paused, setPaused] = useState(text);
  const isFirst = paused === undefined || text === undefined;
  useEffect(() => {
    if (isFirst) return setPaused(text);
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, isFirst]);
  return isFirst ? text : paused;
}

export interface DraftCount {
  /** What a save plans. */
  readonly input: PlanInput;
  readonly count: Count;
  /** While the flag is off: what turning it on does, with the draft. */
  readonly whenOn: Count | undefined;
}

/** Of a flag's screen. `isShown`: whether a count is shown where there are no changes. */
export function useDraftCount(
  { draft, environment, touched, next }: FlagDraft,
  isShown: boolean,
): DraftCount {
  const { id } = draft.stored.flag;
  const here = environment === undefined ? [] : [environment];
  const input = planInput([draft.plan], touched.length > 0 ? touched : here);
  const isComplete = draft.problems.length === 0;
  const isOff = settingOf(next.flag, environment, "enabled").value !== true;
  const hasChanges = draft.changes.length > 0;
  const isCounted = isComplete && (hasChanges || (isShown && !isOff));
  const count = useCount(id, isCounted ? input : undefined);
  const isAsked = isShown && isOff && isComplete;
  // One preview at a time: a newer one would end the older.
  const isFree = !hasChanges || (count.plan !== undefined && !count.isCounting);
  const turnedOn = draft.set(settingCell(environment, "enabled"), true);
  const whenOn = useCount(`${id} on`, isAsked && isFree ? planInput([turnedOn.plan], here) : undefined);
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
