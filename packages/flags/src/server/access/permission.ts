/** Decides what a caller may do with a tenant's flags: denied by default; other tenants' flags do not exist for it. */
import { type Caller, headersOf, type Principal } from "@halyard/sessions/plugin";
import { NO_TENANT } from "../../model/flag.ts";
import type { Call } from "../call.ts";
import type { HostRequest } from "../http/host-request.ts";
import type { FlagAction } from "./actions.ts";
import { organizationGrants } from "./organization-roles.ts";
import { applicationGrants, applicationGrantsAny } from "./roles.ts";

/** `denied`: the caller may know that the flags exist. `hidden`: for this caller they do not exist. */
type Verdict = "granted" | "denied" | "hidden";

/** Whether the caller may do `action` with the tenant's flags. */
export async function judge(
  { service, request, identity }: Call,
  caller: Caller,
  action: FlagAction,
  tenant: string,
): Promise<Verdict> {
  if (caller.kind === "server") return "granted";
  if (caller.kind === "anonymous") return "hidden";
  const { multiTenant = false, permission } = service.options;
  const role = caller.kind === "user" ? caller.user.role : undefined;
  const everywhere = caller.kind === "user" && applicationGrantsAny(request, role);
  const tie = multiTenant && tenant !== NO_TENANT ? await identity.tieTo(caller, tenant) : undefined;
  if (multiTenant && !everywhere && tie === undefined) return "hidden";
  if (permission !== undefined) {
    const granted = await permission(permissionContext(request, caller, tenant), action);
    return granted === true ? "granted" : "denied";
  }
  if (caller.kind === "key") return caller.key.actions.includes(action) ? "granted" : "denied";
  if (applicationGrants(request, role, action)) return "granted";
  if (tie?.role === undefined) return "denied";
  return (await organizationGrants(request, tenant, tie.role, action)) ? "granted" : "denied";
}

function permissionContext(request: HostRequest, caller: Principal, tenant: string) {
  return {
    ...(caller.kind === "user" && { user: userOf(caller.user) }),
    ...(caller.kind === "key" && { key: { id: caller.key.id, actions: caller.key.actions } }),
    ...(tenant !== NO_TENANT && { organizationId: tenant }),
    headers: headersOf(request),
  };
}

function userOf({ id, email, role }: Extract<Caller, { kind: "user" }>["user"]) {
  return { id, email, ...(role !== undefined && { role }) };
}
