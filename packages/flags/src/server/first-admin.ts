/** `makeFeatureFlagAdmin`: gives a user the role that may do everything with flags. */

/** The part of an auth instance that `makeFeatureFlagAdmin` needs. */
export type AuthWithUsers = {
  /** The options of the instance, with its plugins. */
  readonly options: { readonly plugins?: readonly object[] | undefined };
  /** The context that Better Auth gives to plugins. */
  readonly $context: Promise<{ readonly internalAdapter: UserStore }>;
};

/** How users are found and changed. Better Auth's `internalAdapter` has these methods. */
export type UserStore = {
  /** Null for an email that no user has. */
  findUserByEmail(email: string): Promise<{ readonly user: { readonly id: string } } | null>;
  /** Changes fields of a user. */
  updateUser(userId: string, fields: { role: string }): Promise<unknown>;
};

const ADMIN = "admin";

/**
 * Gives the user with this email the role `admin` of Better Auth's admin plugin, which may do everything with flags, and
 * with users. Call it once from a script, for the first admin; other roles of the user stay.
 *
 * ```ts
 * import { featureFlags, makeFeatureFlagAdmin } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 * import { admin } from "better-auth/plugins";
 *
 * const auth = betterAuth({ emailAndPassword: { enabled: true }, plugins: [admin(), featureFlags()] });
 * await makeFeatureFlagAdmin(auth, "ada@example.com");
 * ```
 */
export async function makeFeatureFlagAdmin(auth: AuthWithUsers, email: string): Promise<void> {
  const plugins = auth.options.plugins ?? [];
  // Without the plugin, `role` is a field of the host's own, and the permission check ignores it.
  const plugin = plugins.find((candidate) => "id" in candidate && candidate.id === ADMIN);
  if (plugin === undefined) {
    throw new TypeError(
      "makeFeatureFlagAdmin: the auth instance has no admin plugin. Add admin() of better-auth/plugins, and run the migration.",
    );
  }
  const { internalAdapter } = await auth.$context;
  const found = await internalAdapter.findUserByEmail(email);
  if (found === null) {
    throw new TypeError(
      `makeFeatureFlagAdmin: no user has the email ${JSON.stringify(email)}. Sign up with it first, or check its spelling.`,
    );
  }
  const { user } = found;
  const roles = "role" in user && typeof user.role === "string" ? user.role.split(",") : [];
  if (roles.includes(ADMIN)) return;
  const kept = roles.filter((role) => role !== "" && role !== defaultRoleOf(plugin));
  await internalAdapter.updateUser(user.id, { role: [...kept, ADMIN].join(",") });
}

/** The role of users who were given none. */
function defaultRoleOf(plugin: object): string {
  const options: unknown = "options" in plugin ? plugin.options : undefined;
  const isGiven = typeof options === "object" && options !== null && "defaultRole" in options;
  return isGiven && typeof options.defaultRole === "string" ? options.defaultRole : "user";
}
