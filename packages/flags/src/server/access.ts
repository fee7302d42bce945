/** Who may do what with flags: Better Auth's access control, resource `featureFlag`, deny by default. */
import type { Actor } from "../model/audit.ts";
import { FeatureFlagError } from "../model/errors.ts";
import { type Call, isServerCall } from "./call.ts";
import { readUser, type SessionUser } from "./session.ts";

export type FlagAction = "create" | "evaluate-as";

/** The part of the admin plugin's options that decides; the plugin may be absent, so its types are not imported. */
interface AdminOptions {
  readonly roles?: Readonly<Record<string, AccessRole>>;
  readonly defaultRole?: string;
}

interface AccessRole {
  authorize(request: Record<string, string[]>): { success: boolean };
}

/** The caller, if allowed to do `action`; server code always is. */
export async function requireAction(call: Call, action: FlagAction): Promise<Actor> {
  if (isServerCall(call)) return { type: "system" };
  const user = await readUser(call, { authoritative: true });
  if (user === undefined) {
    throw new FeatureFlagError("PERMISSION_DENIED", "Sign in to administer feature flags.", { status: 401 });
  }
  if (!isGranted(call, user, action)) {
    throw new FeatureFlagError(
      "PERMISSION_DENIED",
      `This needs the role admin, or a role whose access control grants featureFlag: ["${action}"].`,
    );
  }
  return { type: "user", id: user.id };
}

/**
 * `user.role` counts only with the admin plugin: without it the field, if there is one, is the host's own and may be
 * open to whoever signs up.
 */
function isGranted(call: Call, user: SessionUser, action: FlagAction): boolean {
  const plugin = call.context.options.plugins?.find(({ id }) => id === "admin");
  if (plugin === undefined) return false;
  const { roles = {}, defaultRole = "user" }: AdminOptions = plugin.options ?? {};
  return (user.role ?? defaultRole)
    .split(",")
    .some(
      (name) =>
        name === "admin" ||
        (Object.hasOwn(roles, name) && roles[name]?.authorize({ featureFlag: [action] }).success === true),
    );
}
