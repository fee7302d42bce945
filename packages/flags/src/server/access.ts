/** Who may do what with whose flags: resource `featureFlag`, deny by default, and other tenants' flags are not there. */
import { FeatureFlagError } from "../model/errors.ts";
import { NO_TENANT } from "../model/flag.ts";
import { invalid, isWellFormed, MAX_LINE } from "../model/inputs.ts";
import type { TenantFilter, WriteScope } from "../store/store.ts";
import { type Call, headersOf, originOf } from "./call.ts";
import { actorOf, type Caller, homeOf, identifyAdministrator, type Principal, tieTo } from "./caller.ts";
import type { ServerKey } from "./keys.ts";
import { organizationExists, organizationGrants } from "./organizations.ts";
import { applicationGrants, applicationGrantsAny } from "./roles.ts";
import type { FlagAction } from "./routes.ts";
import type { Service } from "./service.ts";

export type Entity = "flag" | "override" | "segment";

/** `granted`; `denied` to somebody who may know that the flags are there; `hidden` from everybody else. */
type Verdict = "granted" | "denied" | "hidden";

/** Whether the caller may do `action` with the tenant's flags. */
export async function judge(
  service: Service,
  call: Call,
  caller: Caller,
  action: FlagAction,
  tenant: string,
): Promise<Verdict> {
  if (caller.kind === "server") return "granted";
  if (caller.kind === "anonymous") return "hidden";
  const { multiTenant = false, permission } = service.options;
  const role = caller.kind === "user" ? caller.user.role : undefined;
  const everywhere = caller.kind === "user" && applicationGrantsAny(call, role);
  const tie = multiTenant && tenant !== NO_TENANT ? await tieTo(call, caller, tenant) : undefined;
  if (multiTenant && !everywhere && tie === undefined) return "hidden";
  if (permission !== undefined) {
    const granted = await permission(permissionContext(call, caller, tenant), action);
    return granted === true ? "granted" : "denied";
  }
  if (caller.kind === "key") return caller.key.actions.includes(action) ? "granted" : "denied";
  if (applicationGrants(call, role, action)) return "granted";
  if (tie?.role === undefined) return "denied";
  return (await organizationGrants(call, tenant, tie.role, action)) ? "granted" : "denied";
}

/**
 * Admits a call on one flag, override or segment. `readId` is called once the caller is known, so that nobody else
 * learns what a valid request looks like.
 */
export async function admitToEntity(
  service: Service,
  call: Call,
  action: FlagAction,
  entity: Entity,
  readId: () => string,
): Promise<{ readonly scope: WriteScope; readonly id: string }> {
  const caller = await identifyAdministrator(call);
  if (service.options.multiTenant !== true) {
    await requireGranted(service, call, caller, action, NO_TENANT);
    return { scope: scopeOf(call, caller, NO_TENANT), id: possibleId(entity, readId()) };
  }
  const id = possibleId(entity, readId());
  const tenant = await service.store.tenantOf(entity, id);
  const verdict = tenant === undefined ? "hidden" : await judge(service, call, caller, action, tenant);
  if (tenant === undefined || verdict === "hidden") throw notFound(entity);
  if (verdict === "denied") throw denied(action);
  return { scope: scopeOf(call, caller, tenant), id };
}

/** Admits a call that makes something for the organization its body names. */
export async function admitToOrganization(
  service: Service,
  call: Call,
  action: FlagAction,
  organizationId: unknown,
): Promise<WriteScope> {
  const caller = await identifyAdministrator(call);
  if (service.options.multiTenant !== true) {
    await requireGranted(service, call, caller, action, NO_TENANT);
    return scopeOf(call, caller, NO_TENANT);
  }
  if (typeof organizationId === "string") {
    await requireGranted(service, call, caller, action, organizationId);
    return scopeOf(call, caller, organizationId);
  }
  const home = caller.kind === "server" ? undefined : await homeOf(call, caller);
  await requireGranted(service, call, caller, action, home ?? NO_TENANT);
  const message = 'is required where multiTenant is on; "" is for all organizations';
  throw invalid([{ path: "organizationId", message }]);
}

/** Admits a call on a list, and says whose entries it covers. `readOrganization` gives the one it names. */
export async function admitToList(
  service: Service,
  call: Call,
  action: FlagAction,
  readOrganization: () => string | undefined,
): Promise<TenantFilter> {
  const caller = await identifyAdministrator(call);
  if (service.options.multiTenant !== true) {
    await requireGranted(service, call, caller, action, NO_TENANT);
    return { tenant: NO_TENANT };
  }
  const named = readOrganization();
  if (named !== undefined) {
    await requireGranted(service, call, caller, action, named);
    return { tenant: named };
  }
  const everywhere = await judge(service, call, caller, action, NO_TENANT);
  if (everywhere === "granted") return "all";
  const home = caller.kind === "server" ? undefined : await homeOf(call, caller);
  if (home === undefined) {
    if (everywhere === "denied") throw denied(action);
    const message = "is required, because no organization is active in the session";
    throw invalid([{ path: "organizationId", message }]);
  }
  await requireGranted(service, call, caller, action, home);
  return { tenant: home };
}

/** Admits a call about the service as a whole: the action is needed on the flags of all organizations. */
export async function admitToService(service: Service, call: Call, action: FlagAction): Promise<void> {
  const caller = await identifyAdministrator(call);
  if ((await judge(service, call, caller, action, NO_TENANT)) === "granted") return;
  if (caller.kind === "key" && (await reachesAll(service, call, caller.key, action))) return;
  throw denied(action);
}

/** Where there are tenants, a user's key reaches all of them if the user does; its own permissions still decide. */
async function reachesAll(
  service: Service,
  call: Call,
  { actions, ownerId }: ServerKey,
  action: FlagAction,
): Promise<boolean> {
  if (service.options.multiTenant !== true || !actions.includes(action)) return false;
  const [owner, isOrganization] = await Promise.all([
    call.context.internalAdapter.findUserById(ownerId),
    organizationExists(call, ownerId),
  ]);
  if (owner === null || isOrganization) return false;
  const role: unknown = "role" in owner ? owner.role : undefined;
  const user = { id: owner.id, email: owner.email, ...(typeof role === "string" && { role }) };
  return (await judge(service, call, { kind: "user", user }, action, NO_TENANT)) === "granted";
}

/** For lists of what has no label: an organization means something only where there are tenants. */
export function refuseLabel(service: Service, organizationId: string | undefined): void {
  if (service.options.multiTenant === true || organizationId === undefined) return;
  throw invalid([{ path: "organizationId", message: "needs the option multiTenant; leave it out" }]);
}

async function requireGranted(
  service: Service,
  call: Call,
  caller: Caller,
  action: FlagAction,
  tenant: string,
): Promise<void> {
  if ((await judge(service, call, caller, action, tenant)) !== "granted") throw denied(action);
}

function denied(action: FlagAction): FeatureFlagError {
  return new FeatureFlagError(
    "PERMISSION_DENIED",
    `This needs the role admin, or a role or key that grants featureFlag: ["${action}"] here.`,
  );
}

export function notFound(entity: Entity | "rule"): FeatureFlagError {
  return new FeatureFlagError("FLAG_NOT_FOUND", `There is no such ${entity}. Check its id.`, {
    details: { entity },
  });
}

/** An id none of ours can be is nothing to ask the database for. */
export function possibleId(entity: Entity | "rule", id: string): string {
  if (id.length > MAX_LINE || !isWellFormed(id)) throw notFound(entity);
  return id;
}

function scopeOf(call: Call, caller: Exclude<Caller, { kind: "anonymous" }>, tenant: string): WriteScope {
  return { tenant, actor: actorOf(caller), origin: originOf(call) };
}

function permissionContext(call: Call, caller: Principal, tenant: string) {
  return {
    ...(caller.kind === "user" && { user: userOf(caller.user) }),
    ...(caller.kind === "key" && { key: { id: caller.key.id, actions: caller.key.actions } }),
    ...(tenant !== NO_TENANT && { organizationId: tenant }),
    headers: headersOf(call),
  };
}

function userOf({ id, email, role }: Extract<Caller, { kind: "user" }>["user"]) {
  return { id, email, ...(role !== undefined && { role }) };
}
