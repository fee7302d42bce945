/** The contract of the store for changes that other processes find: the counter, and what a follower gets. */
import { describe, expect, test } from "vitest";
import type { RevisionRow } from "../../src/model/tables.ts";
import type { FollowedSnapshot } from "../../src/store/flag-store.ts";
import { differenceOf, expiredKeys, nextExpiry } from "../../src/store/snapshot/difference.ts";
import { type Counts, counterName } from "../../src/store/writes/change-counter.ts";
import { COUNTERS, counterOf } from "../../src/store/writes/revision.ts";
import { by, everyone, flagInput, fresh, type StoreHost } from "./store-host.ts";

export function describeChangeCounter(host: () => StoreHost): void {
  describe("the change counters", () => {
    const tenantOf = (counter: number): string => {
      for (;;) {
        const tenant = fresh("tenant");
        if (counterOf(tenant) === counter) return tenant;
      }
    };
    const countOf = ({ counts }: { readonly counts: Counts }, tenant: string) =>
      counts[counterOf(tenant)] ?? Number.NaN;
    const setCount = (tenant: string, revision: number) =>
      host().adapter.update<RevisionRow>({
        model: "featureFlagRevision",
        where: [{ field: "tenant", value: counterName(counterOf(tenant)) }],
        update: { revision },
      });

    test("name exactly the tenants that changed after some numbers, also with concurrent writes", async () => {
      const { store, adapter, readCounted } = host();
      const [a, b, c] = [tenantOf(1), tenantOf(1), tenantOf(2)];
      const flag = await store.createFlag(by(a), flagInput());
      const start = await readCounted([]);
      expect(start.unknown.size).toBe(COUNTERS);
      expect(await readCounted(start.counts)).toMatchObject({
        ...start,
        ends: new Map(),
        unknown: new Set(),
      });
      await Promise.all([
        store.updateFlag(by(a), flag.id, { description: "d" }),
        store.createFlag(by(b), flagInput()),
        store.createFlag(by(b), flagInput()),
      ]);
      const later = await readCounted(start.counts);
      expect(countOf(later, a)).toBe(countOf(start, a) + 3);
      expect([...later.ends.keys()].sort()).toEqual([a, b].sort());
      expect([later.ends.get(a)?.revision, later.unknown.size]).toEqual([2, 0]);
      await store.createFlag(by(c), flagInput());
      expect([...(await readCounted(later.counts)).ends.keys()]).toEqual([c]);
      const rows = await adapter.findMany<RevisionRow>({
        model: "featureFlagRevision",
        where: [{ field: "tenant", operator: "in", value: [a, b, c] }],
      });
      expect(rows.map(({ counter }) => counter).sort()).toEqual([1, 1, 2]);
    });

    test("ask for the tenants of a counter that went back, or that has a number without a row", async () => {
      const { store, readCounted } = host();
      const [tenant, other] = [tenantOf(3), tenantOf(4)];
      for (const each of [tenant, other]) await store.createFlag(by(each), flagInput());
      const { counts } = await readCounted([]);
      const unknown = new Set([3]);
      const ahead = counts.map((count, counter) => (counter === 3 ? (count ?? 0) + 1 : count));
      expect(await readCounted(ahead)).toMatchObject({ counts, ends: new Map(), unknown });
      await setCount(tenant, (counts[3] ?? 0) + 1);
      expect(await readCounted(counts)).toMatchObject({ counts: ahead, ends: new Map(), unknown });
      await store.createFlag(by(other), flagInput());
      expect(await readCounted(counts)).toMatchObject({ unknown });
      expect([...(await readCounted(counts)).ends.keys()]).toEqual([other]);
    });

    test("begin again if another program has deleted them", async () => {
      const { store, adapter, readCounted } = host();
      const tenant = tenantOf(5);
      const { id } = await store.createFlag(by(tenant), flagInput());
      for (const name of ["M", "N"]) await store.updateFlag(by(tenant), id, { name });
      const { counts } = await readCounted([]);
      const where = [{ field: "tenant", value: counterName(5) }];
      await adapter.delete({ model: "featureFlagRevision", where });
      await store.updateFlag(by(tenant), id, { name: "O" });
      const again = await readCounted(counts);
      expect([countOf(again, tenant), [...again.unknown]]).toEqual([1, [5]]);
    });

    test("are not advanced by a write that changes nothing", async () => {
      const { store, readCounted } = host();
      const tenant = fresh("tenant");
      const flag = await store.createFlag(by(tenant), flagInput({ description: "same" }));
      const before = await readCounted([]);
      await store.updateFlag(by(tenant), flag.id, { description: "same" });
      expect(countOf(await readCounted([]), tenant)).toBe(countOf(before, tenant));
    });

    test("lets another process that polls find the change", async () => {
      const tenant = fresh("tenant");
      const other = await host().another({ pollMs: 20 });
      await other.store.snapshot(tenant);
      const flag = await host().store.createFlag(by(tenant), flagInput());
      await expect
        .poll(async () => (await other.store.snapshot(tenant)).snapshot.flags.has(flag.key), { interval: 5 })
        .toBe(true);
      await other.close();
    });
  });

  describe("a follower", () => {
    test("gets snapshots that tell which flags and whose overrides differ", async () => {
      const { store } = host();
      const tenant = fresh("tenant");
      const [one, two] = [
        await store.createFlag(by(tenant), flagInput()),
        await store.createFlag(by(tenant), flagInput()),
      ];
      const snapshots: FollowedSnapshot[] = [];
      const stop = store.follow(tenant, (current) => snapshots.push(current));
      await store.snapshot(tenant);
      const last = () => snapshots.at(-1) as FollowedSnapshot;
      const start = last();
      await store.updateFlag(by(tenant), one.id, { description: "d" });
      expect(differenceOf(start, last())).toMatchObject({ keys: [one.key], overrideKeys: [] });
      const before = last();
      const expiresAt = new Date(Date.now() + 60_000).toISOString();
      await store.createOverride(by(tenant), { flagId: two.id, userId: "u", value: true, expiresAt });
      const overridden = differenceOf(before, last());
      expect([overridden.keys, overridden.overridden("u"), overridden.overridden("v")]).toEqual([
        [],
        [two.key],
        [],
      ]);
      expect(nextExpiry(last(), "u", Date.now())).toBe(Date.parse(expiresAt));
      expect(nextExpiry(last(), "v", Date.now())).toBe(Number.POSITIVE_INFINITY);
      const range = { afterMs: Date.now(), upToMs: Date.now() + 120_000 };
      expect([expiredKeys(last(), "u", range), expiredKeys(last(), "v", range)]).toEqual([[two.key], []]);
      const segment = await store.createSegment(by(tenant), { key: fresh("segment"), conditions: everyone });
      await store.createRule(by(tenant), two.id, {
        priority: 1,
        value: true,
        conditions: { conditions: [{ segment: segment.key }] },
      });
      const ruled = last();
      await store.updateSegment(by(tenant), segment.id, {
        conditions: { conditions: [{ attribute: "plan", operator: "equals", value: "pro" }] },
      });
      expect(differenceOf(ruled, last()).keys).toEqual([two.key]);
      await store.deleteFlag(by(tenant), one.id);
      expect(differenceOf(ruled, last()).keys.slice().sort()).toEqual([one.key, two.key].sort());
      stop();
      const count = snapshots.length;
      await store.updateFlag(by(tenant), two.id, { description: "d" });
      expect(snapshots).toHaveLength(count);
    });

    test("finds the keys of a range of revisions in the audit log, also those of renamed flags", async () => {
      const { store } = host();
      const tenant = fresh("tenant");
      const flag = await store.createFlag(by(tenant), flagInput());
      const other = await store.createFlag(by(tenant), flagInput());
      await store.snapshot(tenant);
      let second: FollowedSnapshot | undefined;
      store.follow(tenant, (current) => {
        second ??= current;
      })();
      const key = fresh("renamed");
      await store.updateFlag(by(tenant), flag.id, { key });
      await store.deleteFlag(by(tenant), other.id);
      expect(await store.changedKeys(tenant, 2, 4)).toEqual({
        hash: second?.auditHash,
        keys: new Set([flag.key, key, other.key]),
        segments: false,
      });
      await store.createSegment(by(tenant), { key: fresh("segment"), conditions: everyone });
      expect(await store.changedKeys(tenant, 4, 5)).toMatchObject({ keys: new Set(), segments: true });
      expect(await store.changedKeys(tenant, 4, 6)).toBeUndefined();
    });
  });
}
