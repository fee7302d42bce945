/** The organizations a user belongs to, and what a role in one grants: Better Auth's organization plugin, if there. */
import { FeatureFlagError } from "../model/errors.ts";
import { isWellFormed, MAX_LINE } from "../model/inputs.ts";
import type { Call } from "./call.ts";
import { isCallerStale, principalOf } from "./fast/host-principals.ts";
import { type AccessRole, grants } from "./roles.ts";
import type { FlagAction } from "./routes.ts";
import { RETRY_AFTER_S } from "./session.ts";

/** The part of the plugin's options that decides; the plugin may be absent, so its types are not imported. */
interface OrganizationOptions {
  readonly roles?: Readonly<Record<string, AccessRole>>;
  readonly dynamicAccessControl?: { readonly enabled?: boolean };
}

/** Members with these roles may do all with their organization's flags, by name. */
const OWNERS: ReadonlySet<string> = new Set(["owner", "admin"]);

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Within one call a membership is asked for more than once and does not change. */
const known = new WeakMap<Call, Map<string, Promise<string | undefined>>>();

/** The user's role in the organization, or undefined for somebody who is not a member. */
export function roleIn(call: Call, userId: string, organizationId: string): Promise<string | undefined> {
  const roles = known.get(call) ?? new Map<string, Promise<string | undefined>>();
  known.set(call, roles);
  const key = JSON.stringify([userId, organizationId]);
  const role = roles.get(key) ?? askRole(call, userId, organizationId);
  roles.set(key, role);
  return role;
}

async function askRole(call: Call, userId: string, organizationId: string): Promise<string | undefined> {
  if (optionsOf(call) === undefined || !isPossibleId(call, organizationId)) return undefined;
  const where = [
    { field: "userId", value: userId },
    { field: "organizationId", value: organizationId },
  ];
  const principal = principalOf(call);
  const known = principal?.memberships?.get(organizationId);
  if (known !== undefined) return known.role;
  // While its caller could not be confirmed, nothing else about the caller can be asked either.
  if (isCallerStale(call)) throw unreadable(new Error("The store does not answer."));
  const { adapter } = call.context;
  const member = await asked(() =>
    adapter.findOne<{ id?: unknown; role?: unknown }>({ model: "member", where }),
  );
  if (typeof member?.role !== "string") return undefined;
  if (typeof member.id === "string") principal?.join(organizationId, { id: member.id, role: member.role });
  return member.role;
}

/** Whether a member's role, one or several with commas between, grants the action within the organization. */
export async function organizationGrants(
  call: Call,
  organizationId: string,
  role: string,
  action: FlagAction,
): Promise<boolean> {
  const { roles = {}, dynamicAccessControl } = optionsOf(call) ?? {};
  if (grants(role, action, roles, OWNERS)) return true;
  if (dynamicAccessControl?.enabled !== true) return false;
  const where = [{ field: "organizationId", value: organizationId }];
  const { adapter } = call.context;
  const stored = await asked(() =>
    adapter.findMany<{ role: string; permission: string }>({ model: "organizationRole", where, limit: 1000 }),
  );
  const names = role.split(",");
  return stored.some((one) => names.includes(one.role) && permits(one.permission, action));
}

/** Whether there is an organization with this id. */
export async function organizationExists(call: Call, organizationId: string): Promise<boolean> {
  if (optionsOf(call) === undefined || !isPossibleId(call, organizationId)) return false;
  const where = [{ field: "id", value: organizationId }];
  const { adapter } = call.context;
  return (await asked(() => adapter.findOne({ model: "organization", where }))) !== null;
}

/** A database that fails must not look like somebody without organizations. */
async function asked<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query();
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): FeatureFlagError {
  return new FeatureFlagError("STORAGE_ERROR", "The caller's organizations could not be read. Try again.", {
    status: 503,
    details: { retryAfter: RETRY_AFTER_S },
    cause,
  });
}

/** A role made at run time keeps its permissions as JSON text. */
function permits(permission: string, action: FlagAction): boolean {
  try {
    const granted: unknown = JSON.parse(permission)?.featureFlag;
    return Array.isArray(granted) && granted.includes(action);
  } catch {
    return false;
  }
}

function optionsOf(call: Call): OrganizationOptions | undefined {
  const plugin = call.context.options.plugins?.find(({ id }) => id === "organization");
  return plugin === undefined ? undefined : (plugin.options ?? {});
}

/** An id in a form the host does not use is nobody's; asking the database for it may be an error there. */
function isPossibleId(call: Call, id: string): boolean {
  const form = call.context.options.advanced?.database?.generateId;
  if (form === "serial") return /^\d{1,15}$/.test(id);
  if (form === "uuid") return UUID.test(id);
  return id.length <= MAX_LINE && isWellFormed(id);
}
