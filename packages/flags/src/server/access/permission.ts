/** Decides what a caller may do with a tenant's flags: denied by default; other tenants' flags do not exist for it. */
import { type Caller, headersOf, type ServerKey, type SessionUser } from "@halyard/sessions/plugin";
import { NO_TENANT } from "../../model/flag.ts";
import type { Call } from "../call.ts";
import type { HostRequest } from "../http/host-request.ts";
import type { FeatureFlagsOptions } from "../options.ts";
import type { FlagAction } from "./actions.ts";
import { organizationGrants } from "./organization-roles.ts";
import { applicationGrants, applicationGrantsAny } from "./roles.ts";

/** `denied`: the caller may know that the flags exist. `hidden`: for this caller they do not exist. */
type Verdict = "granted" | "denied" | "hidden";

/** Whether the caller may do `action` with the tenant's flags. */
export async function judge(
  call: Call,
  caller: Caller,
  action: FlagAction,
  tenant: string,
): Promise<Verdict> {
  switch (caller.kind) {
    case "server":
      return "granted";
    case "anonymous":
      return "hidden";
    case "user":
      return judgeUser(call, caller.user, action, tenant);
    case "key":
      return judgeKey(call, caller.key, action, tenant);
  }
}

/** `key`: the key of the request, whose owner the user is. */
async function judgeUser(
  { service, request, identity }: Call,
  user: SessionUser,
  action: FlagAction,
  tenant: string,
  key?: ServerKey,
): Promise<Verdict> {
  const { multiTenant = false, permission } = service.options;
  const everywhere = applicationGrantsAny(request, user.role);
  const hasTie = multiTenant && tenant !== NO_TENANT;
  const tie = hasTie ? await identity.tieTo({ kind: "user", user }, tenant) : undefined;
  if (multiTenant && !everywhere && tie === undefined) return "hidden";
  if (permission !== undefined) return ask(permission, { request, user, key, tenant, action });
  if (applicationGrants(request, user.role, action)) return "granted";
  if (tie?.role === undefined) return "denied";
  return (await organizationGrants(request, tenant, tie.role, action)) ? "granted" : "denied";
}

/**
 * A key grants at most its actions: everywhere within its own reach, and beyond that where its owner may do the same. That
 * of a person has no reach of its own.
 */
async function judgeKey(call: Call, key: ServerKey, action: FlagAction, tenant: string): Promise<Verdict> {
  const { owner, isPersonal, actions } = key;
  const user = owner.kind === "user" ? owner.user : undefined;
  const hasAction = actions.includes(action);
  if (isPersonal || !(await isWithinReach(call, key, action, tenant))) {
    const verdict = user === undefined ? "hidden" : await judgeUser(call, user, action, tenant, key);
    return verdict === "granted" && !hasAction ? "denied" : verdict;
  }
  if (!hasAction) return "denied";
  const { permission } = call.service.options;
  return permission === undefined
    ? "granted"
    : ask(permission, { request: call.request, user, key, tenant, action });
}

/** Whether the tenant's flags exist for a key that server code made, whatever its owner may do. */
async function isWithinReach(
  { service, identity }: Call,
  key: ServerKey,
  action: FlagAction,
  tenant: string,
): Promise<boolean> {
  if (service.options.multiTenant !== true || key.owner.kind === "service") return true;
  // With `evaluate-as`, every key evaluates global flags as any user.
  if (tenant === NO_TENANT) return action === "evaluate-as";
  return (await identity.tieTo({ kind: "key", key }, tenant)) !== undefined;
}

/** What the caller needs for the action that was denied. */
export function remedyFor({ service }: Call, caller: Caller, action: FlagAction): string {
  const needed = `featureFlag: ["${action}"]`;
  if (caller.kind !== "key") return `This needs the role admin, or a role or key that grants ${needed} here.`;
  const { actions, isPersonal } = caller.key;
  if (!actions.includes(action)) return `The API key lacks ${needed}. Make a key that grants it.`;
  if (isPersonal) {
    return `The API key was made by a person, who may not do this here. Grant its owner ${needed}, or use another key.`;
  }
  if (service.options.multiTenant !== true || service.options.permission !== undefined) {
    return `The option permission denies ${needed} to the API key.`;
  }
  return `The API key grants ${needed} only in its organization, or in those of its owner. Name one of these as organizationId, or use a key whose owner may do this in the application, or a key for "service:<name>".`;
}

interface Question {
  readonly request: HostRequest;
  readonly user: SessionUser | undefined;
  readonly key: ServerKey | undefined;
  readonly tenant: string;
  readonly action: FlagAction;
}

async function ask(
  permission: NonNullable<FeatureFlagsOptions["permission"]>,
  { request, user, key, tenant, action }: Question,
): Promise<Verdict> {
  const context = {
    ...(user && { user: userOf(user) }),
    ...(key && { key: { id: key.id, actions: key.actions } }),
    ...(tenant !== NO_TENANT && { organizationId: tenant }),
    headers: headersOf(request),
  };
  return (await permission(context, action)) === true ? "granted" : "denied";
}

function userOf({ id, email, role }: SessionUser) {
  return { id, email, ...(role !== undefined && { role }) };
}
