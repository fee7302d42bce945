import { afterAll, beforeAll, describe } from "vitest";
import { describeFollowing } from "./contract/following.ts";
import { describeStore } from "./contract/store.ts";
import { openStoreHost, type StoreHost } from "./contract/store-host.ts";
import { freshSqlite } from "./databases.ts";

describeStore(
  "SQLite",
  { open: freshSqlite },
  { keysThatDifferInCase: "are two flags", nodesThatWriteAtOnce: 1 },
);

describe("flags on SQLite, with random writes", () => {
  let host: StoreHost;
  beforeAll(async () => {
    host = await openStoreHost({ open: freshSqlite });
  });
  afterAll(() => host?.close());
  describeFollowing(() => host);
});
