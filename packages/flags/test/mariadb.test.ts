import { describeStore } from "./contract/store.ts";
import { freshMariadb } from "./databases.ts";

describeStore(
  "MariaDB",
  { open: freshMariadb },
  { keysThatDifferInCase: "are in conflict", nodesThatWriteAtOnce: 2 },
);
