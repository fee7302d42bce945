/** Evaluates the application's users before and after a draft. */
import { NO_TENANT } from "../../model/flag.ts";
import { overLimit } from "../../model/inputs.ts";
import type { FeatureFlagPlan } from "../../model/plan.ts";
import type { Draft } from "../../model/plan-input.ts";
import type { DraftPreview } from "../../store/flag-store.ts";
import type { Call } from "../call.ts";
import { requireDeclaredChange } from "../declared-values.ts";
import { isIgnored } from "../evaluation/tenant-flags.ts";
import type { Service } from "../service.ts";
import { ImpactCounter } from "./flag-impact.ts";
import { countOnline } from "./online.ts";
import { Population } from "./population.ts";

/** Flags, each in one environment. */
const MAX_COUNTERS = 1000;

export interface DraftScope {
  readonly tenant: string;
  readonly draft: Draft;
  readonly environments: readonly string[];
  readonly namesUsers: boolean;
}

export interface DraftImpact extends Pick<FeatureFlagPlan, "users" | "onlineSource" | "changes"> {
  readonly preview: DraftPreview;
}

/** Rejects soon after `signal`. */
export async function countDraft(
  { service, request }: Call,
  { tenant, draft, environments, namesUsers }: DraftScope,
  signal?: AbortSignal,
): Promise<DraftImpact> {
  const preview = await service.store.previewDraft(tenant, draft);
  for (const step of preview.steps) requireDeclaredChange(service, step);
  const { before, after, reached } = preview;
  const places: readonly (string | undefined)[] = environments.length === 0 ? [undefined] : environments;
  if (reached.length * places.length > MAX_COUNTERS) {
    throw overLimit(
      `The changes reach ${reached.length} flags in ${places.length} environments.`,
      MAX_COUNTERS,
      "Plan fewer flags or environments at once, or change the segment without a plan.",
    );
  }
  const isIgnoredHere = await ignoring(service, tenant);
  const keyOf = (id: string) => (before.contents.flags.get(id) ?? after.contents.flags.get(id))?.key ?? "";
  const counters = reached.flatMap((flagId) => {
    const counted = { flagId, namesUsers, isIgnored: isIgnoredHere(keyOf(flagId)) };
    return places.map((environment) => new ImpactCounter(preview, { ...counted, environment }));
  });
  const counted = counters.filter((counter) => !counter.counted.isIgnored);
  const compiled = counted
    .flatMap((counter) => [counter.before, counter.after])
    .filter((one) => one !== undefined);
  const population = new Population(service, request.context, {
    tenant,
    environment: undefined,
    roots: new Set(compiled.flatMap(({ trustedRoots }) => [...trustedRoots])),
    cost: compiled.reduce((sum, { cost }) => sum + cost, 0),
    ...(signal && { signal }),
  });
  const groups = places.map((environment) => ({
    environment,
    members: counted.filter((counter) => counter.counted.environment === environment),
  }));
  const users = await population.visit((user, context) => {
    for (const { environment, members } of groups) {
      population.move(context, environment);
      for (const counter of members) counter.count(user, context, population.contexts);
    }
  });
  signal?.throwIfAborted();
  const online = await Promise.all(counters.map(({ movedIds }) => countOnline(service, movedIds)));
  const isKnown = online.every((count) => count !== undefined);
  return {
    preview,
    users,
    onlineSource: isKnown ? "live" : "none",
    changes: counters.map((counter, at) => counter.impact(isKnown ? (online[at] ?? 0) : 0)),
  };
}

/** Whether a flag of the tenant is ignored, by its key. */
export async function ignoring(service: Service, tenant: string): Promise<(key: string) => boolean> {
  if (tenant === NO_TENANT) return () => false;
  const { snapshot } = await service.store.snapshot(NO_TENANT);
  return (key) => isIgnored(key, snapshot);
}
