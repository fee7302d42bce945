import { openAdapterEvents } from "./contract/event-host.ts";
import { describeEventLog } from "./contract/events.ts";
import { freshSqlite } from "./databases.ts";

describeEventLog("on SQLite", () => openAdapterEvents({ open: freshSqlite }), { nodesThatWriteAtOnce: 1 });
