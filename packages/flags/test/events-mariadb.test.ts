import { openAdapterEvents } from "./contract/event-host.ts";
import { describeEventLog } from "./contract/events.ts";
import { freshMariadb } from "./databases.ts";

describeEventLog("on MariaDB", () => openAdapterEvents({ open: freshMariadb }), { nodesThatWriteAtOnce: 2 });
