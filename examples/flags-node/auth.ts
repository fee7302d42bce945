/** Better Auth with organizations, an admin, and feature flags for each organization. */
import { featureFlags } from "@halyard/flags";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, organization } from "better-auth/plugins";

/** Its type is inferred: the methods of `auth.api` come from the plugins. */
export async function createAuth(baseURL: string, database: BetterAuthOptions["database"]) {
  const options = {
    baseURL,
    database,
    secret: process.env["BETTER_AUTH_SECRET"] ?? "good enough for an example, and for nothing else",
    emailAndPassword: { enabled: true },
    plugins: [admin(), organization(), featureFlags({ multiTenant: true })],
    databaseHooks: {
      session: {
        create: {
          // Who signs in starts in an organization of theirs; without an active one only global flags are seen.
          before: async (session, call) => {
            const member = await call?.context.adapter.findOne<{ organizationId: string }>({
              model: "member",
              where: [{ field: "userId", value: session.userId }],
            });
            return { data: { ...session, activeOrganizationId: member?.organizationId ?? null } };
          },
        },
      },
    },
  } satisfies BetterAuthOptions;

  // In an application of yours `npx auth migrate` does this, before you deploy.
  await (await getMigrations(options)).runMigrations();
  return betterAuth(options);
}

export type Auth = Awaited<ReturnType<typeof createAuth>>;
