import { describeStore } from "./contract/store.ts";
import { freshSqlite } from "./databases.ts";

describeStore("SQLite", freshSqlite, { keysThatDifferInCase: "are two flags" });
