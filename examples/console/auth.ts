/** Better Auth with an admin, organizations, API keys, a trusted attribute and feature flags. */
import { apiKey } from "@better-auth/api-key";
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
    user: {
      additionalFields: {
        plan: { type: "string", required: false, input: false },
        country: { type: "string", required: false, input: false },
      },
    },
    plugins: [
      admin(),
      organization(),
      apiKey(),
      featureFlags({
        multiTenant: true,
        identity: "verified",
        trusted: { user: ["plan", "country"] },
        environments: { default: "production", claimable: ["production", "staging"] },
      }),
    ],
  } satisfies BetterAuthOptions;

  // In your application, run `npx auth migrate` before each deployment instead.
  await (await getMigrations(options)).runMigrations();
  return betterAuth(options);
}

export type Auth = Awaited<ReturnType<typeof createAuth>>;
