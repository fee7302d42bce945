import { overDrizzle } from "./contract/drizzle.ts";
import { openAdapterEvents } from "./contract/event-host.ts";
import { describeEventLog } from "./contract/events.ts";
import { freshPostgres } from "./databases.ts";

describeEventLog(
  "on PostgreSQL through the adapter",
  () => openAdapterEvents({ open: () => freshPostgres() }),
  { nodesThatWriteAtOnce: 2 },
);

describeEventLog(
  "on PostgreSQL through Drizzle",
  () =>
    openAdapterEvents({
      open: () => freshPostgres(),
      adapt: (pool, options) => overDrizzle(pool, options, { transaction: true }),
    }),
  { nodesThatWriteAtOnce: 2 },
);
