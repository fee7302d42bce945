/** An application with flags, set up as documented: Better Auth on PostgreSQL, limits off. */
import { defineTrusted, type EventSink, featureFlags } from "@halyard/flags";
import { openPool } from "@halyard/services/postgres-pool";
import { betterAuth } from "better-auth";

/** The application's base URL. Requests name it on every port. */
export const ORIGIN = "http://flags.example";
export const SECRET = "a secret that is only good enough for benches, which is all it does";

interface AuthOptions {
  readonly isQuiet?: boolean;
  readonly sinks?: readonly EventSink[];
  /** Whether rules may read the user's plan from the row. */
  readonly isTrusting?: boolean;
}

const trusted = defineTrusted({ user: ["plan"] });

/** The plugin defines the type of its api, so it is inferred. */
export function createAuth(
  databaseUrl: string,
  { isQuiet = false, sinks, isTrusting = false }: AuthOptions = {},
) {
  const pool = openPool({ connectionString: databaseUrl, max: 10 });
  const auth = betterAuth({
    baseURL: ORIGIN,
    secret: SECRET,
    database: pool,
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: isQuiet ? { disabled: true } : { level: "warn" },
    user: {
      additionalFields: isTrusting ? { plan: { type: "string", required: false, input: false } } : {},
    },
    plugins: [
      featureFlags({
        postgres: pool,
        ...(sinks && { events: { sinks } }),
        ...(isTrusting && { trusted }),
      }),
    ],
  });
  return { auth, pool };
}
