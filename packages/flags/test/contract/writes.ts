/** The contract of the store for writes: atomic, serialized per tenant, each with its audit entry. */
import { runWithTransaction } from "@better-auth/core/context";
import { describe, expect, test } from "vitest";
import type { AuditRow, FlagRow, RevisionRow } from "../../src/model/tables.ts";
import { replaceFlag } from "../../src/store/rows/flags.ts";
import { replaceRule } from "../../src/store/rows/rules.ts";
import { replaceSegment } from "../../src/store/rows/segments.ts";
import { createTransactions } from "../../src/store/writes/transaction.ts";
import type { StoreTraits } from "./flags.ts";
import { by, everyone, flagInput, fresh, refusalOf, type StoreHost, stored } from "./store-host.ts";

export function describeWrites(host: () => StoreHost, { nodesThatWriteAtOnce }: StoreTraits): void {
  const whereTenant = (tenant: string) => [{ field: "tenant", value: tenant }];
  const flagRows = (tenant: string) =>
    host().adapter.findMany<FlagRow>({ model: "featureFlag", where: whereTenant(tenant), limit: 1000 });
  const revisionRows = (tenant: string) =>
    host().adapter.findMany<RevisionRow>({ model: "featureFlagRevision", where: whereTenant(tenant) });
  const auditRows = (tenant: string) =>
    host().adapter.findMany<AuditRow>({
      model: "featureFlagAudit",
      where: whereTenant(tenant),
      sortBy: { field: "revision", direction: "asc" },
      limit: 10_000,
    });

  describe("a write", () => {
    test("concurrent first writes of a tenant all succeed", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      await Promise.all(Array.from({ length: 6 }, () => store.createFlag(by(tenant), flagInput())));
      expect(await revisionRows(tenant)).toMatchObject([{ revision: 6 }]);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 6 });
    });

    test("of one key by concurrent writers succeeds once, and the others get a conflict", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const input = flagInput();
      const settled = await Promise.allSettled(
        Array.from({ length: 8 }, () => store.createFlag(by(tenant), input)),
      );
      const refused = settled.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      expect(refused.map(({ status, details }) => [status, details?.field])).toEqual(
        Array(7).fill([409, "key"]),
      );
      expect(await flagRows(tenant)).toHaveLength(1);
    });

    test("of one flag by 50 concurrent writers with the same version succeeds once, and the others get 409", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const { id } = await store.createFlag(by(tenant), flagInput());
      for (let version = 1; version <= 3; version++) {
        const settled = await Promise.allSettled(
          Array.from({ length: 50 }, (_, writer) =>
            store.updateFlag(by(tenant), id, { name: `${version}-${writer}` }, version),
          ),
        );
        const won = settled.filter(({ status }) => status === "fulfilled");
        const lost = settled.flatMap((result) =>
          result.status === "rejected" ? [result.reason.status] : [],
        );
        expect([won.length, lost]).toEqual([1, Array(49).fill(409)]);
      }
      expect(await revisionRows(tenant)).toMatchObject([{ revision: 4 }]);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 4 });
    });

    test("of different fields by concurrent writers without a version keeps all changes", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const second = await another();
      const { id } = await store.createFlag(by(tenant), flagInput());
      const patches = [
        { name: "M" },
        { description: "d" },
        { enabled: true },
        { defaultValue: true },
        { rolloutPercentage: 7 },
        { salt: "s" },
        { metadata: { a: 1 } },
        { visibility: "server" as const },
      ];
      await Promise.all(
        patches.map((patch, index) =>
          [store, second.store][index % nodesThatWriteAtOnce]?.updateFlag(by(tenant), id, patch),
        ),
      );
      expect(await store.getFlag(tenant, id)).toMatchObject(Object.assign({ version: 9 }, ...patches));
      expect(await second.store.verifyAudit(tenant)).toEqual({ ok: true, entries: 9 });
      await second.close();
    });

    test("to one tenant does not fail because of concurrent writes to other tenants", async () => {
      const { store } = host();
      const tenants = Array.from({ length: 8 }, () => fresh("tenant"));
      await Promise.all(
        tenants.map(async (tenant) => {
          for (let round = 0; round < 6; round++) {
            const { id } = await store.createFlag(by(tenant), flagInput());
            await store.createRule(by(tenant), id, { priority: 1, conditions: everyone, value: true });
            const users = ["a", "b", "c"].map((userId) => ({ flagId: id, userId, value: true }));
            await Promise.all(users.map((user) => store.createOverride(by(tenant), user)));
            if (round % 2 === 0) await store.deleteFlag(by(tenant), id);
          }
        }),
      );
      for (const tenant of tenants) {
        expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 33 });
      }
    });

    test("that fails leaves no rows behind", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      const kept = await store.createFlag(by(tenant), flagInput());
      const [last] = await auditRows(tenant);
      if (last === undefined) throw new Error("there is a write before this one");
      // The audit entry is written after the flag; one that is already there makes it fail.
      const { id: _id, ...fields } = last;
      const obstacle = await adapter.create<AuditRow>({
        model: "featureFlagAudit",
        data: { ...fields, entryId: fresh("entry"), revision: 2 },
      });
      const failed = await refusalOf(store.createFlag(by(tenant), flagInput()));
      expect(failed).toMatchObject({ code: "STORAGE_ERROR", status: 500 });
      expect(failed.message).toBe("The feature flags could not be read or written.");
      expect((await flagRows(tenant)).map(({ flagId }) => flagId)).toEqual([kept.id]);
      expect(await revisionRows(tenant)).toMatchObject([{ revision: 1, auditHash: last.hash }]);
      await adapter.delete({ model: "featureFlagAudit", where: [{ field: "id", value: obstacle.id }] });
      await store.createFlag(by(tenant), flagInput());
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 2 });
    });

    test("that is refused takes no revision", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const { id } = await store.createFlag(by(tenant), flagInput());
      await refusalOf(store.updateFlag(by(tenant), id, {}, 9));
      await refusalOf(store.createRule(by(tenant), id, { priority: 1, conditions: everyone }));
      expect(await revisionRows(tenant)).toMatchObject([{ revision: 1 }]);
    });

    test("that changes nothing takes no version, no revision and no audit entry", async () => {
      const tenant = fresh("tenant");
      const clock = { nowMs: Date.UTC(2031, 0, 1) };
      const { store, close } = await host().another({ nowMs: () => clock.nowMs });
      const scope = by(tenant);
      const flag = await store.createFlag(scope, flagInput({ type: "json", defaultValue: { a: [1] } }));
      const input = { priority: 1, conditions: everyone, value: { b: 2 } };
      const rule = await store.createRule(scope, flag.id, input);
      const segment = await store.createSegment(scope, { key: "s", conditions: everyone });
      for (const patch of [{}, { name: flag.name, defaultValue: { a: [1] }, description: null }]) {
        expect(await store.updateFlag(scope, flag.id, patch)).toEqual(stored(flag));
      }
      for (const patch of [{}, input]) {
        expect(await store.updateRule(scope, flag.id, rule.id, patch)).toEqual(rule);
      }
      for (const patch of [{}, { conditions: everyone, name: null }]) {
        expect(await store.updateSegment(scope, segment.id, patch)).toEqual(segment);
      }
      expect((await refusalOf(store.updateFlag(scope, flag.id, {}, 9))).status).toBe(409);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 3 });
      // The deletion of an expired override is a change, whatever the write that made it.
      const expiresAt = new Date(clock.nowMs + 1000).toISOString();
      await store.createOverride(scope, { flagId: flag.id, userId: "u", value: 1, expiresAt });
      clock.nowMs += 1000;
      expect(await store.updateFlag(scope, flag.id, {})).toEqual(stored(flag));
      const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      expect(entry).toMatchObject({ revision: 5, action: "override.deleted" });
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 5 });
      expect((await store.snapshot(tenant)).snapshot.revision).toBe(5);
      await close();
    });

    test("is dated after all writes before it, and so are its ids, whatever the clocks of the writers", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const behind = await another({ nowMs: () => Date.now() - 60_000 });
      const stores = [store, behind.store].slice(0, nodesThatWriteAtOnce);
      await behind.store.createFlag(by(tenant), flagInput());
      for (let round = 0; round < 3; round++) {
        await Promise.all(
          Array.from({ length: 16 }, (_, index) =>
            stores[index % stores.length]?.createFlag(by(tenant), flagInput()),
          ),
        );
        await behind.store.createFlag(by(tenant), flagInput());
      }
      const entries = await auditRows(tenant);
      expect(entries).toHaveLength(52);
      for (const column of ["at", "entryId", "flagId"] as const) {
        const values = entries.map((entry) => entry[column]);
        expect(values, column).toEqual([...new Set(values)].sort());
      }
      const { flags } = await store.listFlags(
        { tenant },
        { limit: 60, sort: "createdAt", descending: false },
      );
      expect(flags.map(({ id }) => id)).toEqual(entries.map(({ flagId }) => flagId));
      expect(flags.map(({ createdAt }) => createdAt.toISOString())).toEqual(entries.map(({ at }) => at));
      await behind.close();
    });

    test("has the right time again after a clock that was wrong by years", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const wrong = await another({ nowMs: () => Date.UTC(2037, 11, 31) });
      await wrong.store.createFlag(by(tenant), flagInput());
      await store.createFlag(by(tenant), flagInput());
      const [, right] = await auditRows(tenant);
      expect(Math.abs(Date.parse(right?.at ?? "") - Date.now())).toBeLessThan(60_000);
      await wrong.close();
    });

    test("of a row that another program has changed is a 409, and overwrites nothing", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      const flag = await store.createFlag(by(tenant), flagInput());
      const rule = await store.createRule(by(tenant), flag.id, {
        priority: 1,
        conditions: everyone,
        value: true,
      });
      const segment = await store.createSegment(by(tenant), { key: "s", conditions: everyone });
      // Each was read at version 1 and is at version 2 by the time it is written.
      const models = { flagId: "featureFlag", ruleId: "featureFlagRule", segmentId: "featureFlagSegment" };
      for (const model of Object.values(models)) {
        await adapter.update({ model, where: whereTenant(tenant), update: { version: 2 } });
      }
      const mine = { version: 2, name: "mine" };
      const overtaken = { status: 409, details: { field: "version" } };
      expect(await refusalOf(replaceFlag(adapter, tenant, { ...flag, ...mine }))).toMatchObject(overtaken);
      expect(await refusalOf(replaceRule(adapter, tenant, { ...rule, ...mine }))).toMatchObject(overtaken);
      expect(await refusalOf(replaceSegment(adapter, tenant, { ...segment, ...mine }))).toMatchObject(
        overtaken,
      );
      expect(await store.getFlag(tenant, flag.id)).toMatchObject({ version: 2, name: "N" });
      expect(await store.listRules(tenant, flag.id)).not.toMatchObject([{ name: "mine" }]);
      expect(await store.getSegment(tenant, segment.id)).not.toMatchObject({ name: "mine" });
    });

    test("that deletes a flag with a damaged row succeeds, and the log has the row as it was", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      const { id, key } = await store.createFlag(by(tenant), flagInput({ defaultValue: true }));
      const update = { defaultValue: "tru" };
      await adapter.update({ model: "featureFlag", where: whereTenant(tenant), update });
      await store.deleteFlag(by(tenant), id, 1);
      expect(await flagRows(tenant)).toEqual([]);
      const [entry] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      expect(entry).toMatchObject({ action: "flag.deleted", flagKey: key, before: { defaultValue: "tru" } });
      expect((await store.snapshot(tenant)).snapshot.flags.size).toBe(0);
    });

    test("inside a transaction of the host is rolled back with it", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      await store.createFlag(by(tenant), flagInput());
      const undo = new Error("the host changes its mind");
      const input = flagInput();
      const work = runWithTransaction(adapter, async () => {
        const flag = await store.createFlag(by(tenant), input);
        expect(await store.getFlag(tenant, flag.id)).toEqual(stored(flag));
        throw undo;
      });
      await expect(work).rejects.toBe(undo);
      expect(await flagRows(tenant)).toHaveLength(1);
      expect((await store.snapshot(tenant)).snapshot.flags.has(input.key)).toBe(false);
      await store.createFlag(by(tenant), input);
      expect((await store.snapshot(tenant)).snapshot.flags.has(input.key)).toBe(true);
    });

    test("inside a transaction of the host is refused while rollback is unproven; evaluation works there", async () => {
      const tenant = fresh("tenant");
      const { store, another } = host();
      const { key } = await store.createFlag(by(tenant), flagInput());
      const second = await another();
      await runWithTransaction(second.adapter, async () => {
        expect((await second.store.snapshot(tenant)).snapshot.flags.has(key)).toBe(true);
        const refused = second.store.createFlag(by(tenant), flagInput());
        expect(await refusalOf(refused)).toMatchObject({ code: "STORAGE_ERROR", status: 500 });
      });
      expect(await second.store.health(tenant)).toMatchObject({ transactions: "unproven", revision: 1 });
      await second.store.createFlag(by(tenant), flagInput());
      expect(await second.store.health(tenant)).toMatchObject({ transactions: "ok", revision: 2 });
      await second.close();
    });
  });

  test("the rollback proof passes on this database and leaves no row behind", async () => {
    const { adapter } = host();
    await createTransactions(adapter).prove();
    const rows = await adapter.findMany<RevisionRow>({ model: "featureFlagRevision", limit: 10_000 });
    expect(rows.filter(({ tenant }) => tenant.startsWith("rollback-proof"))).toEqual([]);
  });
}
