import { describeStore } from "./contract/store.ts";
import { freshMariadb } from "./databases.ts";

describeStore("MariaDB", freshMariadb, { keysThatDifferInCase: "are in conflict" });
