import { describeStore } from "./contract/store.ts";
import { freshPostgres } from "./databases.ts";

describeStore("PostgreSQL", freshPostgres, { keysThatDifferInCase: "are two flags" });
