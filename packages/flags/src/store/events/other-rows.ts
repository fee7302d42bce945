/**
 * Refuses to use one set of tables while the other one has rows: after the option `postgres` was switched on or off,
 * statistics would lack them, and their idempotency keys would count as new.
 */
import type { HostTables } from "../postgres/host-tables.ts";
import { isMisunderstood } from "../postgres/pool.ts";

const TIMEOUT_MS = 10_000;

const PAGE =
  "https://github.com/halyard/halyard/blob/main/docs/guide/flags-postgres.md#switch-the-option-on-or-off";

const MODELS = [
  "featureFlagEventKey",
  "featureFlagEvent",
  "featureFlagOutbox",
  "featureFlagExposure",
  "featureFlagLink",
  "featureFlagEvaluationCount",
] as const;

const TABLES = [
  "halyard_flag_key",
  "halyard_flag_event",
  "halyard_flag_outbox",
  "halyard_flag_exposure",
  "halyard_flag_link",
  "halyard_flag_evaluation_hour",
] as const;

type Refusal = () => Promise<string | undefined>;

/** Why the tables of the option `postgres` may not be used. */
export function refusalOfPostgres(tables: HostTables): Refusal {
  const names = MODELS.map((model) => tables.table(model));
  return refusal(tables, names, "Better Auth's tables", "copies them into those of the option `postgres`");
}

/** Why Better Auth's tables may not be used. Undefined where the other tables cannot be read. */
export function refusalOfAdapter(tables: HostTables | undefined): Refusal | undefined {
  if (tables === undefined) return undefined;
  return refusal(tables, TABLES, "the tables of the option `postgres`", "copies them back");
}

function refusal(tables: HostTables, names: readonly string[], where: string, what: string): Refusal {
  return async () => {
    for (const name of names) {
      if (!(await hasRows(tables, name))) continue;
      return (
        `Events are not recorded and statistics are not read: ${name} has rows. Another setting of the option ` +
        `\`postgres\` has stored them in ${where}. Run the SQL of ${PAGE}, which ${what}.`
      );
    }
    return undefined;
  };
}

async function hasRows(tables: HostTables, name: string): Promise<boolean> {
  try {
    const rows = await tables.query(TIMEOUT_MS, `select 1 as row from ${name} limit 1`);
    return rows.length > 0;
  } catch (error) {
    if (isMisunderstood(error)) return false;
    throw error;
  }
}
