import { afterAll, beforeAll, describe } from "vitest";
import { describeFlags, type StoreTraits } from "./contract/flags.ts";
import { describeSnapshots } from "./contract/snapshots.ts";
import { describeStore } from "./contract/store.ts";
import { openStoreHost, type StoreHost } from "./contract/store-host.ts";
import { describeWrites } from "./contract/writes.ts";
import { freshPostgres } from "./databases.ts";

const TRAITS: StoreTraits = { keysThatDifferInCase: "are two flags", nodesThatWriteAtOnce: 2 };

describeStore("PostgreSQL", { open: () => freshPostgres() }, TRAITS);

// There a writer who waited for another is undone, and has to begin again.
describe("flags on PostgreSQL set to its strictest isolation", () => {
  let host: StoreHost;
  const options = "-c default_transaction_isolation=serializable";
  beforeAll(async () => {
    host = await openStoreHost({ open: () => freshPostgres({ options }) });
  });
  afterAll(() => host?.close());
  describeWrites(() => host, TRAITS);
});

// With these, the host's id columns take nothing but UUIDs or numbers, and raise an error for anything else.
describe.each(["uuid", "serial"] as const)(
  "flags on PostgreSQL where the host's ids are %s",
  (generateId) => {
    let host: StoreHost;
    beforeAll(async () => {
      host = await openStoreHost({ open: () => freshPostgres(), generateId });
    });
    afterAll(() => host?.close());
    describeFlags(() => host, TRAITS);
    describeSnapshots(() => host);
  },
);
