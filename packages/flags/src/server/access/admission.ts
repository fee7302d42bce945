/** Admits the calls of operations: finds the tenant, requires the action, and gives the scope of reads and writes. */
import { type Caller, headersOf, isServerCall } from "@halyard/sessions/plugin";
import { getIP } from "better-auth/api";
import { type Actor, type AuditAction, type Origin, SYSTEM } from "../../model/audit.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { invalid, isId, isKey, isWellFormed, MAX_LINE } from "../../model/inputs.ts";
import { parseQueriedOrganization } from "../../model/list-query.ts";
import type { TenantFilter, WriteScope } from "../../store/flag-store.ts";
import { notFound } from "../../store/rows/entity.ts";
import type { GuardedCall } from "../call.ts";
import type { HostRequest } from "../http/host-request.ts";
import { noteOf } from "../http/parameters.ts";
import type { FlagAction } from "./actions.ts";
import { judge, remedyFor } from "./permission.ts";

export type Entity = "flag" | "override" | "segment";

/**
 * Admits a call on one flag, override or segment. `readId` runs after the caller is identified, so that an anonymous
 * caller does not learn what a valid request looks like. A flag or segment is named by its id, its key or `key:<key>`.
 */
export async function admitToEntity(
  call: GuardedCall,
  entity: Entity,
  readId: () => string,
  action: FlagAction = call.operation.action,
): Promise<{ readonly scope: WriteScope; readonly id: string }> {
  const { service, request } = call;
  const caller = await call.identity.administrator();
  if (service.options.multiTenant !== true) {
    await requireGranted(call, caller, NO_TENANT, action);
    // Ignored, a change meant for one organization would reach all.
    if (parseQueriedOrganization(request.query)) throw needsTenants();
    const id = await findId(call, entity, NO_TENANT, readId());
    return { scope: scopeOf(request, caller, NO_TENANT), id };
  }
  const given = readId();
  const tenant = await findTenant(call, entity, given);
  const verdict = tenant === undefined ? "hidden" : await judge(call, caller, action, tenant);
  if (tenant === undefined || verdict === "hidden") throw missing(call, entity, given);
  if (verdict === "denied") throw denied(call, caller, action);
  verdict satisfies "granted";
  // Only now, so that a caller without permission does not learn which keys exist.
  const id = await findId(call, entity, tenant, given);
  return { scope: scopeOf(request, caller, tenant), id };
}

/**
 * Admits a call that reverts an audit entry, or all entries of a change. The caller needs `audit`, and what the inverse
 * changes need.
 */
export async function admitToRevert(
  call: GuardedCall,
  readOf: () => { readonly id: string } | { readonly changeId: string },
): Promise<WriteScope> {
  const { service, request } = call;
  const caller = await call.identity.administrator();
  if (service.options.multiTenant !== true) await requireGranted(call, caller, NO_TENANT, "audit");
  const of = readOf();
  const id = "id" in of ? of.id : of.changeId;
  const isPossible = id.length <= MAX_LINE && isWellFormed(id);
  const facts = isPossible ? await service.store.auditFacts(of) : undefined;
  const verdict = facts === undefined ? "hidden" : await judge(call, caller, "audit", facts.tenant);
  if (facts === undefined || verdict === "hidden") throw notFound("id" in of ? "audit entry" : "change");
  if (verdict === "denied") throw denied(call, caller, "audit");
  // The store refuses an action of a newer version.
  for (const needed of new Set(facts.actions.map((action) => NEEDED[action] ?? "update"))) {
    if ((await judge(call, caller, needed, facts.tenant)) !== "granted") throw denied(call, caller, needed);
  }
  return scopeOf(request, caller, facts.tenant);
}

/** What the inverse of each action needs. */
const NEEDED: Readonly<Partial<Record<AuditAction, FlagAction>>> = {
  "flag.created": "delete",
  "flag.deleted": "create",
  "override.created": "override",
  "override.deleted": "override",
};

/** The query of a list with the id of the flag that it names. */
export async function findListedFlag<Query extends { readonly flagId?: string }>(
  call: GuardedCall,
  query: Query,
): Promise<Query> {
  const { flagId } = query;
  if (flagId === undefined || keyIn("flag", flagId) === undefined) return query;
  const tenant = call.service.options.multiTenant === true ? await tenantOfKeys(call) : NO_TENANT;
  return { ...query, flagId: await findId(call, "flag", tenant, flagId) };
}

const KEY_PREFIX = "key:";

/** The key in `key:<key>`, or the text itself. Undefined for a text in the form of an id, which is only an id. */
function keyIn(entity: Entity, given: string): string | undefined {
  if (entity === "override") return undefined;
  if (given.startsWith(KEY_PREFIX)) return given.slice(KEY_PREFIX.length);
  return isKey(given) && !isId(given) ? given : undefined;
}

/** The tenant of an entity, in a multi-tenant application. Undefined if the entity cannot exist. */
async function findTenant(call: GuardedCall, entity: Entity, given: string): Promise<string | undefined> {
  if (keyIn(entity, given) !== undefined) return tenantOfKeys(call);
  const tenant = await call.service.store.tenantOf(entity, possibleId(entity, given));
  const named = parseQueriedOrganization(call.request.query);
  return named === undefined || named === tenant ? tenant : undefined;
}

/**
 * The tenant in which a key is looked up: the organization in the query, else the caller's own, else the global flags.
 * Only one, because the same request must not reach another tenant's flag after the first one is deleted.
 */
async function tenantOfKeys(call: GuardedCall): Promise<string> {
  const named = parseQueriedOrganization(call.request.query);
  if (named !== undefined) return named;
  const caller = await call.identity.administrator();
  const home = caller.kind === "server" ? undefined : await call.identity.homeOf(caller);
  return home ?? NO_TENANT;
}

async function findId(call: GuardedCall, entity: Entity, tenant: string, given: string): Promise<string> {
  const key = keyIn(entity, given);
  if (key === undefined || entity === "override") return possibleId(entity, given);
  const id = isKey(key) ? await call.service.store.idOfKey(entity, tenant, key) : undefined;
  if (id === undefined) throw missing(call, entity, given);
  return id;
}

/** The same error for an entity that does not exist and for one that the caller may not see. */
function missing({ service }: GuardedCall, entity: Entity, given: string): FeatureFlagError {
  const key = keyIn(entity, given);
  if (key === undefined || !isKey(key)) return notFound(entity);
  const message =
    service.options.multiTenant === true
      ? `No ${entity} with the key "${key}" was found. Check the key, and set organizationId in the query to the organization of the ${entity}, or to "" for a global ${entity}.`
      : `There is no ${entity} with the key "${key}". Check the key.`;
  return new FeatureFlagError("FLAG_NOT_FOUND", message, { details: { entity } });
}

/** Admits a call that creates something for the organization in its body. */
export async function admitToOrganization(call: GuardedCall, organizationId: unknown): Promise<WriteScope> {
  const { service, request } = call;
  const caller = await call.identity.administrator();
  if (service.options.multiTenant !== true) {
    await requireGranted(call, caller, NO_TENANT);
    return scopeOf(request, caller, NO_TENANT);
  }
  if (typeof organizationId === "string") {
    await requireGranted(call, caller, organizationId);
    return scopeOf(request, caller, organizationId);
  }
  const home = caller.kind === "server" ? undefined : await call.identity.homeOf(caller);
  await requireGranted(call, caller, home ?? NO_TENANT);
  const message = 'is required where multiTenant is on; "" is for all organizations';
  throw invalid([{ path: "organizationId", message }]);
}

/**
 * Admits a call about one tenant: the organization that it names, else the global flags if the caller may, else the
 * caller's own organization.
 */
export async function admitToTenant(
  call: GuardedCall,
  organizationId: string | undefined,
): Promise<WriteScope> {
  const { service, request } = call;
  const caller = await call.identity.administrator();
  const admitted = async (tenant: string) => {
    await requireGranted(call, caller, tenant);
    return scopeOf(request, caller, tenant);
  };
  if (service.options.multiTenant !== true) {
    const scope = await admitted(NO_TENANT);
    if (organizationId) throw needsTenants();
    return scope;
  }
  if (organizationId !== undefined) return admitted(organizationId);
  if ((await judge(call, caller, call.operation.action, NO_TENANT)) === "granted") return admitted(NO_TENANT);
  const home = caller.kind === "server" ? undefined : await call.identity.homeOf(caller);
  return admitted(home ?? NO_TENANT);
}

/**
 * Admits a call on a list, and gives the tenants whose entries it covers. Without `multiTenant`, `organizationId` in the
 * query is a label.
 */
export async function admitToList(
  call: GuardedCall,
): Promise<{ readonly tenants: TenantFilter; readonly label?: string }> {
  const { service, request } = call;
  const { action } = call.operation;
  const caller = await call.identity.administrator();
  if (service.options.multiTenant !== true) {
    await requireGranted(call, caller, NO_TENANT);
    const label = parseQueriedOrganization(request.query);
    return { tenants: { tenant: NO_TENANT }, ...(label !== undefined && { label }) };
  }
  const named = parseQueriedOrganization(request.query);
  if (named !== undefined) {
    await requireGranted(call, caller, named);
    return { tenants: { tenant: named } };
  }
  const everywhere = await judge(call, caller, action, NO_TENANT);
  if (everywhere === "granted") return { tenants: "all" };
  const home = caller.kind === "server" ? undefined : await call.identity.homeOf(caller);
  if (home === undefined) {
    if (everywhere === "denied") throw denied(call, caller, action);
    const whose = caller.kind === "key" ? "owns the API key" : "is active in the session";
    const message = `is required, because no organization ${whose}`;
    throw invalid([{ path: "organizationId", message }]);
  }
  await requireGranted(call, caller, home);
  return { tenants: { tenant: home } };
}

/** The same for lists whose entries have no label. */
export async function admitToTenants(call: GuardedCall): Promise<TenantFilter> {
  const { tenants, label } = await admitToList(call);
  if (label === undefined) return tenants;
  throw needsTenants();
}

function needsTenants(): FeatureFlagError {
  return invalid([{ path: "organizationId", message: "needs the option multiTenant; leave it out" }]);
}

/** Admits a call about the service as a whole: the action is required on global flags. */
export async function admitToService(call: GuardedCall): Promise<void> {
  const { action } = call.operation;
  const caller = await call.identity.administrator();
  if ((await judge(call, caller, action, NO_TENANT)) === "granted") return;
  throw denied(call, caller, action);
}

async function requireGranted(
  call: GuardedCall,
  caller: Caller,
  tenant: string,
  action: FlagAction = call.operation.action,
): Promise<void> {
  if ((await judge(call, caller, action, tenant)) !== "granted") throw denied(call, caller, action);
}

function denied(call: GuardedCall, caller: Caller, action: FlagAction): FeatureFlagError {
  return new FeatureFlagError("PERMISSION_DENIED", remedyFor(call, caller, action));
}

/** An id that the server never issues is not looked up in the database. */
export function possibleId(entity: Entity | "rule", id: string): string {
  if (id.length > MAX_LINE || !isWellFormed(id)) throw notFound(entity);
  return id;
}

function scopeOf(
  request: HostRequest,
  caller: Exclude<Caller, { kind: "anonymous" }>,
  tenant: string,
): WriteScope {
  return { tenant, actor: actorOf(caller), origin: originOf(request, caller) };
}

function actorOf(caller: Exclude<Caller, { kind: "anonymous" }>): Actor {
  if (caller.kind === "server") return SYSTEM;
  return caller.kind === "key" ? { type: "key", id: caller.key.id } : { type: "user", id: caller.user.id };
}

/** Where a change came from, for the audit log. */
function originOf(request: HostRequest, caller: Caller): Origin {
  const note = noteOf(request);
  if (isServerCall(request)) return note === undefined ? {} : { note };
  const headers = headersOf(request);
  const ip = getIP(headers, request.context.options);
  const userAgent = headers.get("user-agent")?.slice(0, MAX_LINE);
  const requestId = headers.get("x-request-id")?.slice(0, MAX_LINE);
  const impersonatedBy = caller.kind === "user" ? caller.user.impersonatedBy : undefined;
  return {
    ...(ip && { ip }),
    ...(userAgent && { userAgent }),
    ...(requestId && { requestId }),
    ...(impersonatedBy && { impersonatedBy }),
    ...(note !== undefined && { note }),
  };
}
