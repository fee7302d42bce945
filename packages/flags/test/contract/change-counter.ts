/** The contract of the store for changes that other processes find: the counter, and what a follower gets. */
import { describe, expect, test } from "vitest";
import type { RevisionRow } from "../../src/model/tables.ts";
import type { FollowedSnapshot } from "../../src/store/flag-store.ts";
import { differenceOf, expiredKeys, nextExpiry } from "../../src/store/snapshot/difference.ts";
import { COUNTER, readCounted } from "../../src/store/writes/change-counter.ts";
import { by, everyone, flagInput, fresh, type StoreHost } from "./store-host.ts";

export function describeChangeCounter(host: () => StoreHost): void {
  describe("the change counter", () => {
    test("names exactly the tenants that changed after a number, also with concurrent writes", async () => {
      const { store, adapter } = host();
      const [a, b, c] = [fresh("tenant"), fresh("tenant"), fresh("tenant")];
      const flag = await store.createFlag(by(a), flagInput());
      const { seq } = await readCounted(adapter, undefined);
      expect(await readCounted(adapter, seq)).toEqual({ seq, ends: new Map() });
      await Promise.all([
        store.updateFlag(by(a), flag.id, { description: "d" }),
        store.createFlag(by(b), flagInput()),
        store.createFlag(by(b), flagInput()),
      ]);
      const { seq: later, ends } = await readCounted(adapter, seq);
      expect(later).toBe(seq + 3);
      expect([...(ends?.keys() ?? [])].sort()).toEqual([a, b].sort());
      expect(ends?.get(a)?.revision).toBe(2);
      await store.createFlag(by(c), flagInput());
      expect([...((await readCounted(adapter, later)).ends?.keys() ?? [])]).toEqual([c]);
    });

    test("asks for all tenants when it went back, or when a number has no row", async () => {
      const { store, adapter } = host();
      await store.createFlag(by(fresh("tenant")), flagInput());
      const { seq } = await readCounted(adapter, undefined);
      expect(await readCounted(adapter, seq + 1)).toEqual({ seq, ends: undefined });
      const where = [{ field: "tenant", value: COUNTER }];
      await adapter.update<RevisionRow>({
        model: "featureFlagRevision",
        where,
        update: { revision: seq + 1 },
      });
      expect(await readCounted(adapter, seq)).toEqual({ seq: seq + 1, ends: undefined });
    });

    test("is not advanced by a write that changes nothing", async () => {
      const { store, adapter } = host();
      const tenant = fresh("tenant");
      const flag = await store.createFlag(by(tenant), flagInput({ description: "same" }));
      const { seq } = await readCounted(adapter, undefined);
      await store.updateFlag(by(tenant), flag.id, { description: "same" });
      expect((await readCounted(adapter, undefined)).seq).toBe(seq);
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
