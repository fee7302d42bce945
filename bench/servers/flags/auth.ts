/** An application with flags, as its documentation says to set it up: Better Auth on PostgreSQL, limits off. */
import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { Pool } from "pg";

/** Where the application says it is. Requests name it, whichever port they go to. */
export const ORIGIN = "http://flags.example";
export const SECRET = "a secret that is only good enough for benches, which is all it does";

/** The type of its api is the plugin's to say, so it is inferred. */
export function createAuth(databaseUrl: string, { isQuiet = false }: { isQuiet?: boolean } = {}) {
  const pool = new Pool({ connectionString: databaseUrl, max: 10 });
  const auth = betterAuth({
    baseURL: ORIGIN,
    secret: SECRET,
    database: pool,
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: isQuiet ? { disabled: true } : { level: "warn" },
    plugins: [featureFlags({ postgres: pool })],
  });
  return { auth, pool };
}
