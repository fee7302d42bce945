/** Operations that show what changes do to users before they are made: `/feature-flags/admin/plans`. */
import { isPlainObject } from "../../engine/json.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { invalid } from "../../model/inputs.ts";
import type { FeatureFlagPlan, FeatureFlagPreview, PlanFeatureFlagsInput } from "../../model/plan.ts";
import { type Draft, type DraftChange, parsePlanInput, planBody } from "../../model/plan-input.ts";
import type { DraftStep, WriteScope } from "../../store/flag-store.ts";
import { conflict, notFound } from "../../store/rows/entity.ts";
import { admitToEntity, admitToRevert } from "../access/admission.ts";
import { requireMultiTenant } from "../access/multi-tenant.ts";
import { judge } from "../access/permission.ts";
import type { GuardedCall } from "../call.ts";
import { requireDeclaredChange, requireDeclaredPatch } from "../declared-values.ts";
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
import { countDraft, type DraftImpact, ignoring } from "../impact/draft-impact.ts";
import { decodePlan, encodePlan, haveSameCounts } from "../impact/stored-plans.ts";
import { requireListed } from "../listed-environments.ts";
import type { Change, InBody, Operation, Post } from "./definition.ts";
import { CHANGE_QUERY, ENTITY_QUERY } from "./schemas.ts";

/** 100 flags with descriptions and rules. */
const MAX_PLAN_BYTES = 1024 * 1024;
/** How often an apply counts users again, because what decides changes meanwhile. */
const MAX_COUNTS = 3;

/**
 * Evaluates the application's users before and after changes, and returns how many go from which value to which, without
 * making the changes. With organizations: the members of the flags' organization. Needs `update`, for overrides
 * `override`.
 */
export const planFeatureFlags: Operation<
  Post<"/feature-flags/admin/plans", PlanFeatureFlagsInput, FeatureFlagPlan | FeatureFlagPreview> & {
    readonly selects: "plan";
  }
> = {
  summary: "Plan changes of flags: which users they change",
  method: "POST",
  path: "/feature-flags/admin/plans",
  scope: "server",
  action: "update",
  rateLimit: "admin",
  maxBodyBytes: MAX_PLAN_BYTES,
  query: ENTITY_QUERY,
  body: planBody,
  result: planSchema,
  async run(call) {
    const caller = await call.identity.administrator();
    // Permission first: a caller without it does not learn what a valid plan looks like.
    await admitToFirst(call);
    const body = readBody(call);
    const { draft: given, environments, isPreview } = parsePlanInput(body);
    const plan = async (signal?: AbortSignal) => {
      const { tenant, draft } = await admitToDraft(call, given);
      requireListed(call.service, Object(body));
      const scope = { tenant, draft, ...(await viewOf(call, tenant, environments)) };
      return { scope, impact: await countDraft(call, scope, signal) };
    };
    if (!isPreview) {
      const { scope, impact } = await plan();
      const { preview, changes: counts } = impact;
      const { digest, touched } = preview;
      const { id, expiresAt } = await call.service.store.storePlan(
        encodePlan({ ...scope, digest, touched, counts }),
      );
      return { id, expiresAt: expiresAt.toISOString(), ...shown(scope, impact) };
    }
    const { scope, impact } =
      caller.kind === "server"
        ? await plan()
        : await call.service.previews.run(caller.kind === "key" ? caller.key.id : caller.user.id, plan);
    return shown(scope, impact);
  },
};

/**
 * Makes the changes of a plan, all or none. Refused with 409 if a field that it touches was changed since, or if it would
 * now move other users. Needs what the plan needed.
 */
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
  result: () => objectOf({ changeId: string, flags: listOf(anyObject) }),
  async run(call) {
    const { store } = call.service;
    // A caller without credentials does not learn which plans exist.
    await call.identity.administrator();
    const planId = entityId(call.request, "id");
    const text = await store.findPlan(planId);
    if (text === undefined) throw notFound("plan");
    const { draft, environments, counts, touched, digest: planned } = decodePlan(text);
    // Another version of the application may have made the plan.
    const { tenant, scope } = await admitToDraft(call, draft);
    const check = (step: DraftStep) => requireDeclaredChange(call.service, step);
    const drifted = conflict("What the plan depends on changes all the time. Apply it again later.", {});
    // A global flag with the same key belongs to another tenant, so the digest does not have it.
    const isIgnored = await ignoring(call.service, tenant);
    const isAsPlanned = counts.every(({ flagKey, ignored = false }) => ignored === isIgnored(flagKey));
    for (let counted = 0, digest = isAsPlanned ? planned : ""; ; counted++) {
      const seen = { planId, touched, digest, drifted };
      try {
        const { changeId, flags } = await store.makeDraft({ ...scope, changeId: planId }, draft, check, seen);
        return { changeId, flags };
      } catch (error) {
        if (error !== drifted || counted === MAX_COUNTS) throw error;
      }
      const now = await countDraft(call, { tenant, draft, environments, namesUsers: false });
      if (!haveSameCounts(counts, now.changes)) {
        throw conflict(
          "The plan is out of date: what it depends on changed, and it would now move other users. Plan again.",
          { counts: { planned: counts, now: now.changes } },
        );
      }
      digest = now.preview.digest;
    }
  },
};

interface AdmittedDraft {
  readonly tenant: string;
  readonly scope: WriteScope;
  /** With the ids of its entities. */
  readonly draft: Draft;
}

async function admitToDraft(call: GuardedCall, given: Draft): Promise<AdmittedDraft> {
  if ("revert" in given) {
    const scope = await admitToRevert(call, () => ({ changeId: given.revert }));
    return { tenant: scope.tenant, scope, draft: given };
  }
  const { service } = call;
  const scopes = new Map<string, WriteScope>();
  const ids = new Set<string>();
  const keys = new Set<string>();
  const changes: DraftChange[] = [];
  for (const [at, change] of given.changes.entries()) {
    const refuse = (field: string, message: string) => invalid([{ path: `changes.${at}${field}`, message }]);
    const { scope, id } = await admitToChange(call, change);
    scopes.set(scope.tenant, scope);
    if (scopes.size > 1) throw refuse("", "must be of the same organization as the first");
    if (ids.has(id)) throw refuse("", "must be another flag or segment than those before it");
    ids.add(id);
    changes.push({ ...change, id });
    if (change.kind === "segment") continue;
    const { key } = change.fields;
    requireMultiTenant(service, change.fields);
    if (key === undefined) continue;
    if (keys.has(key)) throw refuse(".fields.key", "must differ from the other new keys");
    keys.add(key);
    // The rules that stay must fit the declaration of the new key.
    await requireDeclaredPatch(service, scope.tenant, id, change.fields);
  }
  const [scope] = scopes.values();
  if (scope === undefined) throw invalid([{ path: "changes", message: "must not be empty" }]);
  return { tenant: scope.tenant, scope, draft: { changes } };
}

async function admitToChange(call: GuardedCall, change: DraftChange): ReturnType<typeof admitToEntity> {
  const { kind, id } = change;
  if (kind === "segment") return admitToEntity(call, kind, () => id);
  const { fields, rules, overrides } = change;
  const hasOverrides = overrides.create.length + overrides.delete.length > 0;
  const ruled = rules.create.length + rules.update.length + rules.delete.length;
  if (hasOverrides) await admitToEntity(call, kind, () => id, "override");
  const needsUpdate = !hasOverrides || ruled > 0 || Object.keys(fields).length > 0;
  return admitToEntity(call, kind, () => id, needsUpdate ? "update" : "override");
}

/** Admits the call to the first entity, or the change, that its body names. A body without one is refused for its form later. */
async function admitToFirst(call: GuardedCall): Promise<void> {
  const { changes, revert } = isPlainObject(call.request.body) ? call.request.body : {};
  const changeId: unknown = isPlainObject(revert) ? revert["changeId"] : undefined;
  if (typeof changeId === "string" && changes === undefined) await admitToRevert(call, () => ({ changeId }));
  const first: unknown = Array.isArray(changes) ? changes[0] : undefined;
  if (!isPlainObject(first)) return;
  const { flagId, flagKey, segmentId, segmentKey } = first;
  const action = first["overrides"] !== undefined && !hasMore(first) ? "override" : "update";
  const [entity, id, key] =
    segmentId === undefined && segmentKey === undefined
      ? (["flag", flagId, flagKey] as const)
      : (["segment", segmentId, segmentKey] as const);
  if (typeof id === "string") await admitToEntity(call, entity, () => id, action);
  else if (typeof key === "string") await admitToEntity(call, entity, () => `key:${key}`, action);
}

/** Whether a change has more than overrides. An empty part is one, too. */
function hasMore({ fields, rules }: Readonly<Record<string, unknown>>): boolean {
  return (isPlainObject(fields) && Object.keys(fields).length > 0) || rules !== undefined;
}

/** Examples name users only for callers who may evaluate as them. */
async function viewOf(call: GuardedCall, tenant: string, given: readonly string[] | undefined) {
  const caller = await call.identity.administrator();
  const initial = call.service.options.environments?.default;
  return {
    environments: given ?? (initial === undefined ? [] : [initial]),
    namesUsers: (await judge(call, caller, "evaluate-as", tenant)) === "granted",
  };
}

function shown(
  { tenant, environments }: { readonly tenant: string; readonly environments: readonly string[] },
  { users, onlineSource, changes }: DraftImpact,
): FeatureFlagPreview {
  const [environment] = environments.length === 1 ? environments : [];
  return {
    ...(tenant !== NO_TENANT && { organizationId: tenant }),
    ...(environment !== undefined && { environment }),
    users,
    onlineSource,
    changes,
  };
}

function planSchema() {
  const move = objectOf({ from: anyJson, to: anyJson, count: integer });
  const rule = objectOf({ ruleId: string, index: integer, before: integer, after: integer, moved: integer });
  const impact = objectOf({
    flagId: string,
    flagKey: string,
    environment: string,
    version: integer,
    moves: listOf(move),
    values: listOf(objectOf({ value: anyJson, before: integer, after: integer })),
    moved: integer,
    unchanged: integer,
    unknown: integer,
    online: integer,
    examples: listOf(objectOf({ userId: string, name: string, email: string, from: anyJson, to: anyJson })),
    rules: listOf(rule),
    removed: boolean,
    created: boolean,
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
