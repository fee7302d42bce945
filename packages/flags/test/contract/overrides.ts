/** The contract of the store for overrides and their expiry. */
import { describe, expect, test } from "vitest";
import type { OverrideRow } from "../../src/model/tables.ts";
import { by, flagInput, fresh, refusalOf, type StoreHost } from "./store-host.ts";

const MINUTE = 60_000;

export function describeOverrides(host: () => StoreHost): void {
  /** A store on the same database whose clock the test sets. */
  async function setUp({ maxOverrides }: { maxOverrides?: number } = {}) {
    const clock = { nowMs: Date.UTC(2030, 0, 1) };
    const node = await host().another({ nowMs: () => clock.nowMs, maxOverrides });
    const tenant = fresh("tenant");
    const scope = by(tenant);
    const flag = await node.store.createFlag(scope, flagInput({ type: "number", enabled: true }));
    const { store } = node;
    const override = async (userId: string) =>
      (await store.snapshot(tenant)).snapshot.override(flag.id, userId, clock.nowMs);
    const actions = async () =>
      (await store.listAudit({ tenant }, { limit: 200, offset: 0 })).map(({ action, actor }) => [
        action,
        actor.type,
      ]);
    const rows = () =>
      node.adapter.findMany<OverrideRow>({
        model: "featureFlagOverride",
        where: [{ field: "tenant", value: tenant }],
        limit: 1000,
      });
    const create = (userId: string, fields: object = {}) =>
      store.createOverride(
        { ...scope, actor: { type: "user", id: "admin" } },
        {
          flagId: flag.id,
          userId,
          value: 1,
          ...fields,
        },
      );
    const inMs = (ms: number) => new Date(clock.nowMs + ms).toISOString();
    return { clock, tenant, scope, store, flag, override, actions, rows, create, inMs, close: node.close };
  }

  describe("overrides", () => {
    test("every field is stored and returned, and the snapshot has its value", async () => {
      const { store, tenant, scope, override, inMs, close } = await setUp();
      const flag = await store.createFlag(
        scope,
        flagInput({ type: "json", variants: [{ key: "v", weight: 100, value: 1 }] }),
      );
      const input = {
        flagId: flag.id,
        userId: "Üser 🚢 ",
        value: [{ a: null }],
        variant: "v",
        reason: "asked for",
        expiresAt: inMs(MINUTE),
      };
      const created = await store.createOverride(scope, input);
      expect(created).toMatchObject({ ...input, expiresAt: new Date(input.expiresAt), enabled: true });
      const query = { limit: 5, sort: "createdAt", descending: false } as const;
      expect((await store.listOverrides({ tenant }, query)).overrides).toEqual([created]);
      const { snapshot } = await store.snapshot(tenant);
      expect(snapshot.override(flag.id, input.userId, Date.UTC(2030, 0, 1))).toMatchObject({
        value: [{ a: null }],
        variant: "v",
      });
      expect(snapshot.override(flag.id, "Üser 🚢", Date.UTC(2030, 0, 1))).toBeUndefined();
      expect(await override("nobody")).toBeUndefined();
      await close();
    });

    test("users whose ids differ only in case or a space are different users", async () => {
      const { create, override, store, tenant, close } = await setUp();
      for (const [index, userId] of ["ann", "Ann", "ann ", "änn"].entries())
        await create(userId, { value: index });
      expect(await override("Ann")).toMatchObject({ value: 1 });
      expect(await override("ann ")).toMatchObject({ value: 2 });
      const query = { userId: "ann", limit: 9, sort: "userId", descending: false } as const;
      expect((await store.listOverrides({ tenant }, query)).overrides).toMatchObject([
        { userId: "ann", value: 0 },
      ]);
      await close();
    });

    test("a second override for the same flag and user is a conflict, and a disabled one is ignored", async () => {
      const { create, override, store, scope, close } = await setUp();
      const first = await create("u", { enabled: false });
      expect(await override("u")).toBeUndefined();
      expect(await refusalOf(create("u"))).toMatchObject({
        code: "VALIDATION_ERROR",
        status: 409,
        details: { field: "userId", id: first.id },
      });
      await store.deleteOverride(scope, first.id);
      await create("u", { value: 5 });
      expect(await override("u")).toMatchObject({ value: 5 });
      await close();
    });

    test("values must fit the flag, variants must exist, and the expiry must be in the future", async () => {
      const { create, inMs, close } = await setUp();
      expect(await refusalOf(create("u", { value: "1" }))).toMatchObject({
        code: "INVALID_FLAG_TYPE",
        details: { field: "value" },
      });
      expect(await refusalOf(create("u", { variant: "v" }))).toMatchObject({
        status: 400,
        details: { field: "variant" },
      });
      for (const expiresAt of [inMs(-1), inMs(0), "soon", "+012345-01-01T00:00:00Z"]) {
        expect(await refusalOf(create("u", { expiresAt }))).toMatchObject({
          code: "VALIDATION_ERROR",
          status: 400,
          details: { field: "expiresAt" },
        });
      }
      expect(await create("u", { expiresAt: "9999-12-31T23:59:59.999Z" })).toMatchObject({ userId: "u" });
      await close();
    });

    test("an expired override is ignored, and a new one can replace it", async () => {
      const { create, override, clock, inMs, actions, store, tenant, rows, flag, close } = await setUp();
      const old = await create("u", { expiresAt: inMs(MINUTE) });
      clock.nowMs += MINUTE - 1;
      expect(await override("u")).toMatchObject({ value: 1 });
      expect((await refusalOf(create("u"))).status).toBe(409);
      clock.nowMs += 1;
      expect(await override("u")).toBeUndefined();
      const next = await create("u", { value: 2 });
      expect(await override("u")).toMatchObject({ value: 2 });
      // The old one is cleared away by the system, in an entry of its own.
      expect(await actions()).toEqual([
        ["override.created", "user"],
        ["override.deleted", "system"],
        ["override.created", "user"],
        ["flag.created", "system"],
      ]);
      const [, swept] = await store.listAudit({ tenant }, { limit: 2, offset: 0 });
      expect(swept).toMatchObject({
        flagId: flag.id,
        flagKey: flag.key,
        entityId: old.id,
        before: { id: old.id, userId: "u" },
        after: null,
      });
      expect((await rows()).map(({ overrideId }) => overrideId)).toEqual([next.id]);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 4 });
      await close();
    });

    test("expired overrides that are not deleted yet are not listed, not found, and block nothing", async () => {
      const { create, clock, inMs, store, tenant, scope, flag, rows, close } = await setUp();
      await store.updateFlag(scope, flag.id, { variants: [{ key: "v", weight: 100, value: 1 }] });
      const made = [];
      // More than a write takes along.
      for (let user = 0; user < 65; user++) {
        const variant = user < 60 ? undefined : "v";
        made.push(await create(`u${user}`, { expiresAt: inMs(MINUTE), variant }));
      }
      clock.nowMs += MINUTE;
      const query = { limit: 200, sort: "createdAt", descending: false } as const;
      expect(await store.listOverrides({ tenant }, query)).toMatchObject({ overrides: [] });
      for (const { id } of [made[0], made.at(-1)].flatMap((override) => override ?? [])) {
        expect((await refusalOf(store.deleteOverride(scope, id))).status).toBe(404);
      }
      expect(await rows()).toHaveLength(65);
      // Twenty go with any write; besides, those that no longer fit, for no snapshot could hold them.
      expect(await store.updateFlag(scope, flag.id, { variants: null })).not.toHaveProperty("variants");
      expect((await rows()).filter(({ variant }) => variant !== null)).toEqual([]);
      expect((await rows()).length).toBeGreaterThanOrEqual(40);
      expect(await store.updateFlag(scope, flag.id, { type: "string" })).toMatchObject({ type: "string" });
      expect(await rows()).toEqual([]);
      const reader = await host().another();
      expect((await reader.store.snapshot(tenant)).snapshot.flags.get(flag.key)?.flag.type).toBe("string");
      await reader.close();
      expect(await store.verifyAudit(tenant)).toMatchObject({ ok: true });
      await close();
    });

    test("expired overrides are deleted by the tenant's next writes, a few at a time, each with its audit entry", async () => {
      const { create, clock, inMs, store, tenant, scope, flag, rows, override, close } = await setUp();
      for (let user = 0; user < 25; user++) await create(`u${user}`, { expiresAt: inMs(MINUTE) });
      await create("stays");
      clock.nowMs += MINUTE;
      await store.updateFlag(scope, flag.id, { name: "M" });
      expect(await rows()).toHaveLength(6);
      await store.updateFlag(scope, flag.id, { name: "N" });
      expect((await rows()).map(({ userId }) => userId)).toEqual(["stays"]);
      expect(await override("stays")).toMatchObject({ value: 1 });
      const { snapshot } = await store.snapshot(tenant);
      expect(snapshot.revision).toBe(1 + 26 + 25 + 2);
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: snapshot.revision });
      await close();
    });

    test("an expired override with a damaged row blocks no write, and is logged as it is", async () => {
      const { create, clock, inMs, store, tenant, scope, flag, rows, close } = await setUp();
      const { id } = await create("u", { expiresAt: inMs(MINUTE) });
      const where = [{ field: "overrideId", value: id }];
      await host().adapter.update({ model: "featureFlagOverride", where, update: { value: "tru" } });
      clock.nowMs += MINUTE;
      expect(await store.updateFlag(scope, flag.id, { enabled: false })).toMatchObject({ enabled: false });
      expect(await rows()).toEqual([]);
      const [, swept] = await store.listAudit({ tenant }, { limit: 2, offset: 0 });
      expect(swept).toMatchObject({ entityId: id, before: { overrideId: id, value: "tru" }, after: null });
      expect(await store.verifyAudit(tenant)).toEqual({ ok: true, entries: 4 });
      await close();
    });

    test("an expired override whose flag another program deleted is deleted too", async () => {
      const { create, clock, inMs, store, tenant, scope, flag, rows, close } = await setUp();
      const { id } = await create("u", { expiresAt: inMs(MINUTE) });
      const where = [{ field: "flagId", value: flag.id }];
      await host().adapter.delete({ model: "featureFlag", where });
      clock.nowMs += MINUTE;
      await store.createFlag(scope, flagInput());
      expect(await rows()).toEqual([]);
      const [, swept] = await store.listAudit({ tenant }, { limit: 2, offset: 0 });
      expect(swept).toMatchObject({ entityId: id, flagId: flag.id, flagKey: "" });
      await close();
    });

    test("the limit of overrides applies to each tenant separately", async () => {
      const { create, store, scope, flag, clock, inMs, close } = await setUp({ maxOverrides: 3 });
      const first = await create("a");
      await create("b");
      await create("c", { expiresAt: inMs(MINUTE) });
      expect(await refusalOf(create("d"))).toMatchObject({
        code: "VALIDATION_ERROR",
        status: 409,
        details: { limit: 3 },
      });
      const other = by(fresh("tenant"));
      const theirs = await store.createFlag(other, flagInput());
      await store.createOverride(other, { flagId: theirs.id, userId: "a", value: true });
      clock.nowMs += MINUTE;
      await create("d");
      expect((await refusalOf(create("e"))).status).toBe(409);
      await store.deleteOverride(scope, first.id);
      await create("e");
      expect(flag.version).toBe(1);
      await close();
    });
  });
}
