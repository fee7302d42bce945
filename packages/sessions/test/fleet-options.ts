/** The application whose sessions several processes follow. */
import type { BetterAuthOptions } from "better-auth";
import { admin, organization } from "better-auth/plugins";
import type { Pool } from "pg";

export function fleetOptions(database: Pool) {
  return {
    baseURL: "http://fleet.example",
    secret: "a secret for tests that is long enough 0123456789",
    database,
    rateLimit: { enabled: false },
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [admin(), organization()],
  } satisfies BetterAuthOptions;
}
