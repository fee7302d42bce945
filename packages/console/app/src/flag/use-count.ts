/** Counts whom changes move while they are edited: by plans that store nothing. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ADMIN, REPORT_KEPT_MS, scoped } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { FeatureFlagPlan, PlanFeatureFlagsInput } from "../api/types.ts";

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

/** Undefined: there is nothing to count. `subject`: a count of another one is never shown in its place. */
export function useCount(subject: string, input: PlanInput | undefined): Count {
  const client = useQueryClient();
  const paused = usePaused(input);
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey: ["plan", subject, paused],
    queryFn: ({ signal }) => makePlan(paused ?? {}, signal),
    enabled: paused !== undefined,
    placeholderData: (plan, query) => (query?.queryKey[1] === subject ? keepPreviousData(plan) : undefined),
    staleTime: REPORT_KEPT_MS,
    gcTime: 60_000,
    // Another window of the same person counts, too.
    retry: (failures, failure) =>
      failures < MOST_RETRIES && isStatus(failure, 409) && isSuperseded(failure.details),
  });
  const isOld = JSON.stringify(paused) !== JSON.stringify(input);
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
function usePaused(input: PlanInput | undefined): PlanInput | undefined {
  const text = JSON.stringify(input);
  const [paused, setPaused] = useState(input);
  const isFirst = paused === undefined || input === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal inputs are one
  useEffect(() => {
    if (isFirst) return setPaused(input);
    const timer = setTimeout(() => setPaused(input), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, isFirst]);
  return isFirst ? input : paused;
}
