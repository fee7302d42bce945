/** Operations that show what changes do to users before they are made: `/feature-flags/admin/plans`. */
import { isPlainObject } from "../../engine/json.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { invalid } from "../../model/inputs.ts";
import type { AppliedFeatureFlagPlan, PlanFeatureFlagsInput } from "../../model/plan.ts";
import { parsePlanInput, planBody } from "../../model/plan-input.ts";
import type { FlagPreview, WriteScope } from "../../store/flag-store.ts";
import { notFound, outOfDate } from "../../store/rows/entity.ts";
import { admitToEntity } from "../access/admission.ts";
import { requireMultiTenant } from "../access/multi-tenant.ts";
import { judge } from "../access/permission.ts";
import type { GuardedCall } from "../call.ts";
import { requireDeclaredPatch } from "../declared-values.ts";
import { isIgnored } from "../evaluation/tenant-flags.ts";
import { readBody } from "../http/body-limit.ts";
import {
  anyJson,
  anyObject,
  boolean,
  integer,
  listOf,
  objectOf,
  oneOf,
  string,
  time,
} from "../http/openapi.ts";
import { entityId } from "../http/parameters.ts";
import { ImpactCounter } from "../impact/flag-impact.ts";
import { countOnline } from "../impact/online.ts";
import { Population } from "../impact/population.ts";
import { findPlan, forgetPlan, type StoredChange, storePlan } from "../impact/stored-plans.ts";
import type { Change, InBody, Operation, Post } from "./definition.ts";
import { CHANGE_QUERY, ENTITY_QUERY } from "./schemas.ts";

/**
 * Evaluates the application's users before and after changes, and returns how many go from which value to which, without
 * making the changes. With organizations: the members of the flag's organization. Needs `update`.
 */
export const planFeatureFlags: Operation<
  Post<"/feature-flags/admin/plans", PlanFeatureFlagsInput> & { readonly namesFlag: true }
> = {
  summary: "Plan changes of flags: which users they change",
  method: "POST",
  path: "/feature-flags/admin/plans",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: ENTITY_QUERY,
  body: planBody,
  result: planSchema,
  async run(call) {
    const { service, request } = call;
    const { tenant, previews, changes, environment } = await readChanges(call);
    const { snapshot } = await service.store.snapshot(tenant);
    const global = tenant === NO_TENANT ? undefined : (await service.store.snapshot(NO_TENANT)).snapshot;
    const ignores = ({ flag }: FlagPreview) => global !== undefined && isIgnored(flag.key, global);
    const namesUsers = await mayNameUsers(call, tenant);
    const counters = previews.map((preview) => new ImpactCounter(preview, snapshot, namesUsers));
    const counted = counters.filter(({ preview }) => !ignores(preview));

    const roots = new Set(
      previews.flatMap(({ before, after }) => [...before.trustedRoots, ...after.trustedRoots]),
    );
    const cost = counted.reduce((sum, { preview: { before, after } }) => sum + before.cost + after.cost, 0);
    const population = new Population(service, request.context, { tenant, environment, roots, cost });
    const users = await population.visit((user, context) => {
      for (const counter of counted) counter.count(user, context, population.contexts);
    });
    const online = await Promise.all(counters.map(({ movedIds }) => countOnline(service, movedIds)));
    const isKnown = online.every((count) => count !== undefined);
    const { id, expiresAt } = await storePlan(request.context, { tenant, changes });
    return {
      id,
      expiresAt: expiresAt.toISOString(),
      ...(tenant !== NO_TENANT && { organizationId: tenant }),
      ...(environment !== undefined && { environment }),
      users,
      onlineSource: isKnown ? "live" : "none",
      changes: counters.map((counter, at) => ({
        ...counter.impact(isKnown ? (online[at] ?? 0) : 0),
        ...(ignores(counter.preview) && { ignored: true as const }),
      })),
    };
  },
};

/** Makes the changes of a plan. Refused with 409 if one of the flags was changed since. Needs `update`. */
export const applyFeatureFlagPlan: Operation<
  Post<"/feature-flags/admin/plans/:id/apply", Record<string, never> | undefined> &
    Change &
    InBody<{ id: string }>
> = {
  summary: "Make the changes of a plan",
  method: "POST",
  path: "/feature-flags/admin/plans/:id/apply",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  query: CHANGE_QUERY,
  result: () => objectOf({ flags: listOf(anyObject) }),
  async run(call) {
    const { service, request } = call;
    // A caller without credentials does not learn which plans exist.
    await call.identity.administrator();
    const planId = entityId(request, "id");
    const plan = await findPlan(request.context, planId);
    if (plan === undefined) throw notFound("plan");
    const scopes: WriteScope[] = [];
    for (const { flagId, fields } of plan.changes) {
      const { scope } = await admitToEntity(call, "flag", () => flagId);
      // Another version of the application may have made the plan.
      requireMultiTenant(service, fields);
      await requireDeclaredPatch(service, scope.tenant, flagId, fields);
      scopes.push({ ...scope, changeId: planId });
    }
    await refuseDrift(call, plan.tenant, plan.changes);
    const flags: AppliedFeatureFlagPlan["flags"][number][] = [];
    for (const [at, { flagId, fields, digest }] of plan.changes.entries()) {
      const scope = scopes[at];
      if (scope === undefined) throw notFound("plan");
      try {
        flags.push(await service.store.updateFlag(scope, flagId, fields, undefined, digest));
      } catch (error) {
        throw withApplied(
          error,
          flags.map(({ key }) => key),
        );
      }
    }
    await forgetPlan(request.context, planId);
    return { flags };
  },
};

interface ReadChanges {
  readonly tenant: string;
  readonly previews: readonly FlagPreview[];
  readonly changes: readonly StoredChange[];
  readonly environment: string | undefined;
}

async function readChanges(call: GuardedCall): Promise<ReadChanges> {
  const { service } = call;
  // Permission first: a caller without it does not learn what a valid plan looks like.
  await admitToFirst(call);
  const { changes: given, environment = service.options.environments?.default } = parsePlanInput(
    readBody(call),
  );
  const tenants = new Set<string>();
  const previews: FlagPreview[] = [];
  const changes: StoredChange[] = [];
  for (const [at, { flag: named, fields }] of given.entries()) {
    const { scope, id } = await admitToEntity(call, "flag", () => named);
    tenants.add(scope.tenant);
    if (tenants.size > 1) {
      throw invalid([
        { path: `changes.${at}`, message: "must be a flag of the same organization as the first" },
      ]);
    }
    if (changes.some(({ flagId }) => flagId === id)) {
      throw invalid([{ path: `changes.${at}`, message: "must be another flag than those before it" }]);
    }
    if (fields.key !== undefined && given.slice(0, at).some((other) => other.fields.key === fields.key)) {
      throw invalid([{ path: `changes.${at}.fields.key`, message: "must differ from the other new keys" }]);
    }
    requireMultiTenant(service, fields);
    await requireDeclaredPatch(service, scope.tenant, id, fields);
    const preview = await service.store.previewFlag(scope.tenant, id, fields);
    const { flag, digest } = preview;
    previews.push(preview);
    changes.push({ flagId: id, flagKey: flag.key, digest, fields });
  }
  const [tenant = NO_TENANT] = tenants;
  return { tenant, previews, changes, environment };
}

/** Admits the call to the first flag that its body names. A body without one is refused for its form later. */
async function admitToFirst(call: GuardedCall): Promise<void> {
  await call.identity.administrator();
  const { body } = call.request;
  const first: unknown =
    isPlainObject(body) && Array.isArray(body["changes"]) ? body["changes"][0] : undefined;
  const { flagId, flagKey } = isPlainObject(first) ? first : {};
  if (typeof flagId === "string") await admitToEntity(call, "flag", () => flagId);
  else if (typeof flagKey === "string") await admitToEntity(call, "flag", () => `key:${flagKey}`);
}

/** Examples name users only for callers who may evaluate as them. */
async function mayNameUsers(call: GuardedCall, tenant: string): Promise<boolean> {
  const caller = await call.identity.administrator();
  return (await judge(call, caller, "evaluate-as", tenant)) === "granted";
}

async function refuseDrift(
  { service }: GuardedCall,
  tenant: string,
  changes: readonly StoredChange[],
): Promise<void> {
  const drifted: string[] = [];
  for (const { flagId, flagKey, fields, digest } of changes) {
    const now = await service.store.previewFlag(tenant, flagId, fields);
    if (now.digest !== digest) drifted.push(flagKey);
  }
  if (drifted.length > 0) throw outOfDate(drifted);
}

/** The error, which says which changes of the plan were made before it. */
function withApplied(error: unknown, applied: readonly string[]): unknown {
  if (applied.length === 0 || !(error instanceof FeatureFlagError)) return error;
  const { code, message, status, details } = error;
  return new FeatureFlagError(code, `${message} The changes of ${applied.join(", ")} were made.`, {
    status,
    details: { ...details, applied },
    cause: error,
  });
}

function planSchema() {
  const move = objectOf({ from: anyJson, to: anyJson, count: integer });
  const impact = objectOf({
    flagId: string,
    flagKey: string,
    version: integer,
    moves: listOf(move),
    moved: integer,
    unchanged: integer,
    unknown: integer,
    online: integer,
    examples: listOf(objectOf({ userId: string, name: string, email: string, from: anyJson, to: anyJson })),
    ignored: boolean,
  });
  return objectOf({
    id: string,
    expiresAt: time,
    organizationId: string,
    environment: string,
    users: objectOf({ total: integer, evaluated: integer, sampled: boolean }),
    onlineSource: oneOf("live", "none"),
    changes: listOf(impact),
  });
}
