import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { describeFlags, type StoreTraits } from "./contract/flags.ts";
import { describeSnapshots } from "./contract/snapshots.ts";
import { describeStore } from "./contract/store.ts";
import { by, flagInput, fresh, openStoreHost, type StoreHost } from "./contract/store-host.ts";
import { describeWrites } from "./contract/writes.ts";
import { freshPostgres } from "./databases.ts";

const TRAITS: StoreTraits = { keysThatDifferInCase: "are two flags", nodesThatWriteAtOnce: 2 };

describeStore("PostgreSQL", { open: () => freshPostgres() }, TRAITS);

// There a writer who waited for another is undone, and has to begin again.
describe("flags on PostgreSQL with serializable isolation", () => {
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

describe("flags on PostgreSQL with direct queries", () => {
  let host: StoreHost;
  beforeAll(async () => {
    host = await openStoreHost({ open: () => freshPostgres(), isAskedDirectly: true });
  });
  afterAll(() => host?.close());
  describeSnapshots(() => host);

  test("polling notices a change without Better Auth's adapter, for all kinds of tenant names", async () => {
    const tenant = fresh('a "tenant", {such} as \\this');
    await host.store.createFlag(by(tenant), flagInput());
    // Its clock stands still, so that nothing but polling has it look.
    const { adapter, store } = await host.another({ pollMs: 5, monotonicMs: () => 0 });
    await store.snapshot(tenant);
    const asked = vi.spyOn(adapter, "findMany");
    await sleep(50);
    expect(asked).not.toHaveBeenCalled();
    await host.store.createFlag(by(tenant), flagInput());
    await vi.waitFor(async () => expect((await store.snapshot(tenant)).snapshot.revision).toBe(2), 10_000);
  });
});
