/** What a member's role grants within an organization: the access control of Better Auth's organization plugin. */
import { organizationsUnavailable } from "@halyard/sessions/plugin";
import type { HostContext, HostRequest } from "../http/host-request.ts";
import type { FlagAction } from "./actions.ts";
import { type AccessRole, grants } from "./roles.ts";

/** The part of the plugin's options that decides. The plugin is optional, so its types are not imported. */
interface OrganizationOptions {
  readonly roles?: Readonly<Record<string, AccessRole>>;
  readonly dynamicAccessControl?: { readonly enabled?: boolean };
}

/** Members with these roles may do everything with their organization's flags. */
const OWNERS: ReadonlySet<string> = new Set(["owner", "admin"]);
const MAX_STORED_ROLES = 1000;

/** `role` is one role, or several separated by commas. */
export async function organizationGrants(
  { context }: Pick<HostRequest, "context">,
  organizationId: string,
  role: string,
  action: FlagAction,
): Promise<boolean> {
  const plugin = context.options.plugins?.find(({ id }) => id === "organization");
  const { roles = {}, dynamicAccessControl }: OrganizationOptions = plugin?.options ?? {};
  if (grants(role, action, roles, OWNERS)) return true;
  if (dynamicAccessControl?.enabled !== true) return false;
  const stored = await readRoles(context, organizationId);
  const names = role.split(",");
  return stored.some((one) => names.includes(one.role) && permits(one.permission, action));
}

async function readRoles({ adapter }: HostContext, organizationId: string) {
  const where = [{ field: "organizationId", value: organizationId }];
  try {
    return await adapter.findMany<{ role: string; permission: string }>({
      model: "organizationRole",
      where,
      limit: MAX_STORED_ROLES,
    });
  } catch (error) {
    throw organizationsUnavailable(error);
  }
}

/** A role that was created at run time has its permissions as JSON text. */
function permits(permission: string, action: FlagAction): boolean {
  try {
    const actions: unknown = JSON.parse(permission)?.featureFlag;
    return Array.isArray(actions) && actions.includes(action);
  } catch {
    return false;
  }
}
