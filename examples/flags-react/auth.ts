/** Better Auth with organizations, and feature flags for each of them. */
import { featureFlags } from "@halyard/flags";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { admin, organization } from "better-auth/plugins";
import { flags } from "./src/flags.ts";

/** Its type is inferred: the methods of `auth.api` come from the plugins. */
export async function createAuth(baseURL: string, database: BetterAuthOptions["database"]) {
  const options = {
    baseURL,
    database,
    secret: process.env["BETTER_AUTH_SECRET"] ?? "good enough for an example, and for nothing else",
    emailAndPassword: { enabled: true },
    // Given the declared flags, it says in the log which of them are not stored as declared.
    plugins: [admin(), organization(), featureFlags({ multiTenant: true, flags })],
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
