/** What a user's role in the application grants: Better Auth's admin plugin and access control. */
import type { HostRequest } from "../http/host-request.ts";
import { type FlagAction, featureFlagStatements } from "./actions.ts";

export interface AccessRole {
  authorize(request: Record<string, string[]>): { success: boolean };
}

/** The admin plugin's options that decide. The plugin may be absent, so its types are not imported. */
interface AdminOptions {
  readonly roles?: Readonly<Record<string, AccessRole>>;
  readonly defaultRole?: string;
}

const ADMINS: ReadonlySet<string> = new Set(["admin"]);

/** Whether one of the roles, separated by commas, grants the action: by its name, or by its access control. */
export function grants(
  role: string,
  action: FlagAction,
  roles: Readonly<Record<string, AccessRole>>,
  byName: ReadonlySet<string>,
): boolean {
  return role
    .split(",")
    .some(
      (name) =>
        byName.has(name) ||
        (Object.hasOwn(roles, name) && roles[name]?.authorize({ featureFlag: [action] }).success === true),
    );
}

/**
 * Whether the user's role in the application grants the action. `user.role` counts only with the admin plugin: without
 * it, such a field is the host's own and users may be able to set it themselves.
 */
export function applicationGrants(
  { context }: HostRequest,
  role: string | undefined,
  action: FlagAction,
): boolean {
  const plugin = context.options.plugins?.find(({ id }) => id === "admin");
  if (plugin === undefined) return false;
  const { roles = {}, defaultRole = "user" }: AdminOptions = plugin.options ?? {};
  return grants(role ?? defaultRole, action, roles, ADMINS);
}

/** Whether the role in the application grants any action on flags. */
export function applicationGrantsAny(request: HostRequest, role: string | undefined): boolean {
  return featureFlagStatements.featureFlag.some((action) => applicationGrants(request, role, action));
}
