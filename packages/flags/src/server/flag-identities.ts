/** What the flags of one auth instance need to identify their callers. */
import { createIdentities, type HostContext, type Identities } from "@halyard/sessions/plugin";
import { HostTables } from "../store/postgres/host-tables.ts";
import type { PostgresPool } from "../store/postgres/pool.ts";
import { createSessionRowsQuery } from "../store/postgres/session-rows.ts";

export function createFlagIdentities(context: HostContext, postgres: PostgresPool | undefined): Identities {
  const tables = HostTables.on(context, postgres);
  return createIdentities(context, {
    keyResource: "featureFlag",
    sessionChanges: (byAdapter) => createSessionRowsQuery(tables, byAdapter),
  });
}
