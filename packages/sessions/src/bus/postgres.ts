/** Carries announcements over LISTEN and NOTIFY of PostgreSQL. */
import type { Bus as SessionBus } from "@halyard/base";
import { type PostgresPool, postgresBus } from "@halyard/base/postgres";

export type { Bus as SessionBus, BusListener as SessionBusListener } from "@halyard/base";
export type { PostgresClient, PostgresPool } from "@halyard/base/postgres";

/** The options of `postgresSessionBus`. */
export interface PostgresSessionBusOptions {
  /** The channel, a plain identifier. Applications that share a database need different ones. Default `halyard_sessions`. */
  readonly channel?: string;
}

/**
 * A bus over PostgreSQL, for `connectSessions` or the option `bus` of `betterAuthSession`. It keeps one connection of the
 * pool for LISTEN, which must not go through a pooler in transaction mode.
 *
 * @example
 * ```ts
 * import { connectSessions } from "@halyard/sessions";
 * import { postgresSessionBus } from "@halyard/sessions/postgres";
 * import { betterAuth } from "better-auth";
 * import { Pool } from "pg";
 *
 * const pool = new Pool();
 * const auth = betterAuth({ database: pool });
 * await connectSessions(auth, postgresSessionBus(pool));
 * ```
 */
export function postgresSessionBus(pool: PostgresPool, options: PostgresSessionBusOptions = {}): SessionBus {
  return postgresBus(pool, options.channel ?? "halyard_sessions");
}
