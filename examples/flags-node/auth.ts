/** Better Auth with organizations, an admin, and feature flags for each organization. */
import { featureFlags } from "@halyard/flags";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, organization } from "better-auth/plugins";

/** The return type is inferred, because the plugins add the methods of `auth.api`. */
export async function createAuth(baseURL: string, database: BetterAuthOptions["database"]) {
  const options = {
    baseURL,
    database,
    secret: process.env["BETTER_AUTH_SECRET"] ?? "a secret for this example only; set your own",
    emailAndPassword: { enabled: true },
    plugins: [admin(), organization(), featureFlags({ multiTenant: true })],
    databaseHooks: {
      session: {
        create: {
          // A new session starts in an organization of the user. Without an active one, only global flags apply.
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

  // In your application, run `npx auth migrate` before each deployment instead.
  await (await getMigrations(options)).runMigrations();
  return betterAuth(options);
}

export type Auth = Awaited<ReturnType<typeof createAuth>>;
