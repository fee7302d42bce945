/** The contract of the store for snapshots. */
import { describe, expect, test } from "vitest";
import { type AuditRow, createTables } from "../../src/model/tables.ts";
import type { SnapshotReading } from "../../src/store/flag-store.ts";
import { createFlagStore } from "../../src/store/store.ts";
import { afterEveryRead, by, everyone, flagInput, fresh, type Node, type StoreHost } from "./store-host.ts";

export function describeSnapshots(host: () => StoreHost): void {
  /** A tenant's flags as an evaluation sees them, without fields that differ between processes. */
  async function view({ store }: Pick<Node, "store">, tenant: string, minRevision?: number) {
    const { snapshot, stale } = await store.snapshot(tenant, minRevision);
    const flags = [...snapshot.flags].map(([key, { flag, compiled }]) => [
      key,
      flag,
      compiled.evaluate({ userId: "u", attributes: { n: 1 } }),
      snapshot.override(flag.id, "u", 0),
    ]);
    return { revision: snapshot.revision, stale, flags };
  }

  describe("the snapshot", () => {
    test("has its flags sorted by key, for all kinds of keys", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      for (const key of ["b", "__proto__", "a", "constructor", "_"]) {
        await store.createFlag(by(tenant), flagInput({ key }));
      }
      expect([...(await store.snapshot(tenant)).snapshot.flags.keys()]).toEqual(
        ["b", "__proto__", "a", "constructor", "_"].sort(),
      );
    });

    test("contains every write of the same process once it is answered; older snapshots do not change", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const before = (await store.snapshot(tenant)).snapshot;
      const flag = await store.createFlag(by(tenant), flagInput({ enabled: true, defaultValue: false }));
      const after = (await store.snapshot(tenant)).snapshot;
      expect([before.flags.size, after.flags.size]).toEqual([0, 1]);
      await store.createOverride(by(tenant), { flagId: flag.id, userId: "u", value: true });
      expect(after.override(flag.id, "u", 0)).toBeUndefined();
      expect((await store.snapshot(tenant)).snapshot.override(flag.id, "u", 0)).toMatchObject({
        value: true,
      });
    });

    test("is the same after reading all rows as after following the changes", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const scope = by(tenant);
      const follower = await another();
      await follower.store.snapshot(tenant);
      const flags = [];
      for (let index = 0; index < 4; index++) {
        flags.push(await store.createFlag(scope, flagInput({ type: "number", enabled: true })));
      }
      const [a, b, c, d] = flags.map(({ id }) => id) as [string, string, string, string];
      const segment = await store.createSegment(scope, {
        key: "s",
        conditions: { conditions: [], not: everyone },
      });
      const conditions = { conditions: [{ segment: "s" }] };
      const steps: (() => Promise<unknown>)[] = [
        () => store.createRule(scope, a, { priority: 1, conditions, value: 1 }),
        () => store.createRule(scope, b, { priority: 1, conditions: everyone, value: 2 }),
        () => store.updateSegment(scope, segment.id, { conditions: everyone }),
        () => store.createOverride(scope, { flagId: c, userId: "u", value: 3 }),
        () => store.createOverride(scope, { flagId: d, userId: "u", value: 4 }),
        () => store.deleteFlag(scope, d),
        () => store.updateFlag(scope, c, { key: fresh("renamed"), defaultValue: 9 }),
        async () => {
          const [rule] = await store.listRules(tenant, b);
          await store.deleteRule(scope, b, rule?.id ?? "");
          const query = { limit: 1, sort: "createdAt", descending: false } as const;
          const { overrides } = await store.listOverrides({ tenant }, query);
          await store.deleteOverride(scope, overrides[0]?.id ?? "");
        },
      ];
      for (const step of steps) {
        await step();
        const writer = await view(host(), tenant);
        expect(await view(follower, tenant, writer.revision)).toEqual(writer);
        const reader = await another();
        expect(await view(reader, tenant)).toEqual(writer);
        await reader.close();
      }
      await follower.close();
    });

    test("of another process is at least as new as the revision that its caller has seen", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const second = await another();
      await second.store.snapshot(tenant);
      for (let write = 1; write <= 5; write++) {
        await store.createFlag(by(tenant), flagInput());
        const { revision } = await view(second, tenant, write);
        expect(revision).toBeGreaterThanOrEqual(write);
      }
      // The store does not wait for a revision that does not exist.
      expect(await view(second, tenant, 1_000_000)).toMatchObject({ revision: 5, stale: false });
      await second.close();
    });

    test("of another process that polls has the change at its first use", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const second = await another({ pollMs: 20, monotonicMs: () => 0 });
      expect((await view(second, tenant)).flags).toEqual([]);
      await store.createFlag(by(tenant), flagInput());
      // Its clock stands still, so that only the poll can have brought the change.
      await expect.poll(async () => (await view(second, tenant)).revision, { timeout: 10_000 }).toBe(1);
      await second.close();
    });

    test("with an invalid row is refused, and the old one stays", async () => {
      const tenant = fresh("tenant");
      const { store, adapter, another } = host();
      const second = await another();
      const flag = await store.createFlag(by(tenant), flagInput({ enabled: true }));
      const good = await view(second, tenant);
      const inTenant = [{ field: "tenant", value: tenant }];
      /** What a tool that bypasses the store would do. */
      async function tamper(type: string, revision: number): Promise<void> {
        const [entry] = await adapter.findMany<AuditRow>({ model: "featureFlagAudit", where: inTenant });
        if (entry === undefined) throw new Error("there is a write before this one");
        const { id: _id, ...fields } = entry;
        await adapter.update({ model: "featureFlag", where: inTenant, update: { type } });
        const data = { ...fields, entryId: fresh("entry"), revision };
        await adapter.create<AuditRow>({ model: "featureFlagAudit", data });
        await adapter.update({ model: "featureFlagRevision", where: inTenant, update: { revision } });
      }

      await tamper("colour", 2);
      for (let reading = 0; reading < 3; reading++) {
        expect(await view(second, tenant, 2)).toEqual({ ...good, stale: true });
      }
      expect(second.warnings).toHaveLength(1);
      expect((await second.store.health(tenant)).problem).toContain(flag.key);
      const third = await another();
      await expect(third.store.snapshot(tenant)).rejects.toMatchObject({ code: "STORAGE_ERROR" });
      expect(await third.store.health(tenant)).toMatchObject({ stale: true, snapshotAgeMs: null });

      await tamper("string", 3);
      expect(await view(second, tenant, 3)).toMatchObject({ revision: 3, stale: false });
      expect(await second.store.health(tenant)).not.toHaveProperty("problem");
      expect((await third.store.snapshot(tenant)).snapshot.revision).toBe(3);
      await second.close();
      await third.close();
    });

    test("that is read during writes has exactly the state of its revision", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const scope = by(tenant);
      const input = { type: "number", enabled: true, defaultValue: 0 } as const;
      // Made in one order and changed in the other, so that rows read one after the other fit together at no time.
      const flags = [await store.createFlag(scope, flagInput(input))];
      flags.unshift(await store.createFlag(scope, flagInput(input)));
      const values = async (reading: SnapshotReading | Promise<SnapshotReading>) => {
        const { snapshot } = await reading;
        return {
          revision: snapshot.revision,
          values: flags.map(({ key }) => snapshot.flags.get(key)?.compiled.evaluate({}).value),
        };
      };
      const history = new Map<number, unknown>();
      let round = 0;
      async function writeOn(): Promise<void> {
        round += 1;
        for (const { id } of flags) {
          await store.updateFlag(scope, id, { defaultValue: round });
          const now = await values(store.snapshot(tenant));
          history.set(now.revision, now);
        }
      }
      const node = await another();
      const reader = createFlagStore(afterEveryRead(node.adapter, writeOn), { pollMs: 0, warn: () => {} });
      for (let reading = 0; reading < 4; reading++) {
        const seen = await values(reader.snapshot(tenant, Number.MAX_SAFE_INTEGER));
        expect(seen).toEqual(history.get(seen.revision));
        await writeOn();
      }
      await reader.close();
      await node.close();
    });

    test("of a running process has nothing of the lost changes after a backup was restored", async () => {
      const { adapter, another } = host();
      const tables = Object.entries(createTables()).flatMap(([model, { fields }]) =>
        "tenant" in fields ? [model] : [],
      );
      for (const writesAfterwards of [2, 3]) {
        const tenant = fresh("tenant");
        const where = [{ field: "tenant", value: tenant }];
        const [before, node] = [await another(), await another()];
        const flag = await before.store.createFlag(
          by(tenant),
          flagInput({ type: "string", enabled: true, defaultValue: "one" }),
        );
        const copy = new Map<string, Record<string, unknown>[]>();
        for (const model of tables) copy.set(model, await adapter.findMany({ model, where }));
        await before.store.updateFlag(by(tenant), flag.id, { defaultValue: "two" });
        await before.store.updateFlag(by(tenant), flag.id, { defaultValue: "three" });
        expect(await view(node, tenant)).toMatchObject({ revision: 3 });

        for (const [model, rows] of copy) {
          await adapter.deleteMany({ model, where });
          for (const { id: _id, ...data } of rows) await adapter.create({ model, data });
        }
        const [after, reader] = [await another(), await another()];
        for (let write = 0; write < writesAfterwards; write++) {
          await after.store.createFlag(by(tenant), flagInput());
        }
        const seen = await view(node, tenant, 1_000_000);
        expect(seen).toMatchObject({ revision: 1 + writesAfterwards, stale: false });
        expect(seen).toEqual(await view(reader, tenant));
        for (const each of [before, node, after, reader]) await each.close();
      }
    });

    test.each([
      ["an override's value of another type", "featureFlagOverride", { value: '"<script>"' }],
      ["an override's variant that does not exist", "featureFlagOverride", { variant: "gone" }],
      ["an override's expiry that is not a time", "featureFlagOverride", { expiresAt: "soon" }],
      ["an override's value that is not JSON", "featureFlagOverride", { value: "tru" }],
      ["a rule's priority that is not a number", "featureFlagRule", { priority: '"x"' }],
      [
        "a segment that is nested too deeply",
        "featureFlagSegment",
        { conditions: `${"[".repeat(2e4)}${"]".repeat(2e4)}` },
      ],
    ])(
      "with %s is refused with the cause, and does not affect other tenants",
      async (_what, model, update) => {
        const [tenant, other] = [fresh("tenant"), fresh("tenant")];
        const { store, adapter, another } = host();
        const { id } = await store.createFlag(by(tenant), flagInput({ enabled: true }));
        await store.createOverride(by(tenant), { flagId: id, userId: "u", value: true });
        await store.createRule(by(tenant), id, { priority: 1, conditions: everyone, value: true });
        await store.createSegment(by(tenant), { key: "s", conditions: everyone });
        await adapter.update({ model, where: [{ field: "tenant", value: tenant }], update });
        const reader = await another();
        await expect(reader.store.snapshot(tenant)).rejects.toMatchObject({ code: "STORAGE_ERROR" });
        expect((await reader.store.health(tenant)).problem).toMatch(
          /The (override|rule)|of the segment|of the override/,
        );
        expect(await view(reader, other)).toMatchObject({ revision: 0, stale: false });
        expect(await reader.store.health(other)).not.toHaveProperty("problem");
        await reader.close();
      },
    );

    test("of one tenant has no flags of another", async () => {
      const [mine, theirs] = [fresh("tenant"), fresh("tenant")];
      const { store } = host();
      const flag = await store.createFlag(by(theirs), flagInput());
      await store.createOverride(by(theirs), { flagId: flag.id, userId: "u", value: true });
      const { snapshot } = await store.snapshot(mine);
      expect([snapshot.revision, snapshot.flags.size, snapshot.override(flag.id, "u", 0)]).toEqual([
        0,
        0,
        undefined,
      ]);
    });
  });
}
