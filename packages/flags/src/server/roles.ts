/** What a user's role grants: Better Auth's access control. */
import type { Call } from "./call.ts";
import { type FlagAction, featureFlagStatements } from "./routes.ts";

export interface AccessRole {
  authorize(request: Record<string, string[]>): { success: boolean };
}

/** The part of the admin plugin's options that decides; the plugin may be absent, so its types are not imported. */
interface AdminOptions {
  readonly roles?: Readonly<Record<string, AccessRole>>;
  readonly defaultRole?: string;
}

const ADMINS: ReadonlySet<string> = new Set(["admin"]);

/** Whether one of the roles, with commas between, grants the action: by its name, or by its access control. */
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
 * it the field, if there is one, is the host's own and may be open to whoever signs up.
 */
export function applicationGrants(call: Call, role: string | undefined, action: FlagAction): boolean {
  const plugin = call.context.options.plugins?.find(({ id }) => id === "admin");
  if (plugin === undefined) return false;
  const { roles = {}, defaultRole = "user" }: AdminOptions = plugin.options ?? {};
  return grants(role ?? defaultRole, action, roles, ADMINS);
}

/** Whether the role in the application grants anything on flags at all. */
export function applicationGrantsAny(call: Call, role: string | undefined): boolean {
  return featureFlagStatements.featureFlag.some((action) => applicationGrants(call, role, action));
}
