/** The Better Auth instance: users sign in with a password, and teams are its organizations. */
import type { DatabaseSync } from "node:sqlite";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { organization } from "better-auth/plugins";

export async function createAuth(database: DatabaseSync, baseURL: string) {
  const options = {
    baseURL,
    database,
    secret: process.env["BETTER_AUTH_SECRET"] ?? "only for this example, replace it in yours",
    emailAndPassword: { enabled: true },
    plugins: [organization()],
  };
  await (await getMigrations(options)).runMigrations();
  return betterAuth(options);
}

export type Auth = Awaited<ReturnType<typeof createAuth>>;
