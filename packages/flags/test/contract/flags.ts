/** The contract of the store for flags. */
import { describe, expect, test } from "vitest";
import type { FlagType } from "../../src/engine/definition.ts";
import type { JsonValue } from "../../src/engine/json.ts";
import type { FlagRow } from "../../src/model/tables.ts";
import { by, everyone, flagInput, fresh, refusalOf, type StoreHost, stored } from "./store-host.ts";
import { VALUES } from "./values.ts";

export interface StoreTraits {
  /** Whether `Beta` and `beta` can both exist. The collation of the key column decides. */
  readonly keysThatDifferInCase: "are two flags" | "are in conflict";
  /** SQLite's driver blocks the process while it waits for a lock, so it deadlocks on a lock of the same process. */
  readonly nodesThatWriteAtOnce: 1 | 2;
}

export function describeFlags(host: () => StoreHost, traits: StoreTraits): void {
  describe("flags", () => {
    test.each(VALUES.map(([type, value]) => [type, JSON.stringify(value).slice(0, 60), value] as const))(
      "the %s %s comes back as it was, from the database and from the snapshot",
      async (type, _shown, value) => {
        const tenant = fresh("tenant");
        const { store } = host();
        const defaultValue = value as JsonValue;
        const input = flagInput({ type, enabled: true, defaultValue });
        const { id } = await store.createFlag(by(tenant), input);
        expect(JSON.stringify((await store.getFlag(tenant, id)).defaultValue)).toBe(JSON.stringify(value));
        const { snapshot } = await store.snapshot(tenant);
        const evaluated = snapshot.flags.get(input.key)?.compiled.evaluate({});
        expect(JSON.stringify(evaluated?.value)).toBe(JSON.stringify(value));
      },
    );

    test("every field is stored, and every read returns the same", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const fields = flagInput({
        name: "Näme 🚢",
        description: "",
        type: "string",
        enabled: true,
        defaultValue: "x",
        offValue: "off",
        rolloutPercentage: 30,
        organizationId: tenant,
        variants: [
          { key: "a", weight: 33.334, value: "A" },
          { key: "b", weight: 66.666, value: "B", metadata: { tag: [1] } },
        ],
        environments: {
          staging: { enabled: false, defaultValue: "s", offValue: "o", rolloutPercentage: 5 },
          __proto__x: {},
        },
        salt: "s",
        bucketBy: "attributes.team",
        visibility: "server",
        tenantOverridable: false,
        metadata: { owner: "crew" },
      });
      const before = Date.now();
      const created = await store.createFlag(by(tenant), fields);
      expect(created).toMatchObject({ ...fields, version: 1, algo: 1 });
      expect(created.createdAt.getTime()).toBeGreaterThanOrEqual(before);
      expect(created.updatedAt).toEqual(created.createdAt);
      expect(await store.getFlag(tenant, created.id)).toEqual(created);
      const { snapshot } = await store.snapshot(tenant);
      expect(snapshot.flags.get(fields.key)?.flag).toEqual(created);
      const listed = await store.listFlags({ tenant }, { limit: 1, sort: "key", descending: false });
      expect(listed).toEqual({ flags: [created], page: { limit: 1, hasMore: false } });
    });

    test("only the required fields: disabled, public, and no optional field", async () => {
      const tenant = fresh("tenant");
      const flag = await host().store.createFlag(by(tenant), flagInput());
      expect(flag).toMatchObject({ enabled: false, visibility: "public" });
      expect(Object.keys(await host().store.getFlag(tenant, flag.id)).sort()).toEqual(
        [
          "algo",
          "createdAt",
          "enabled",
          "id",
          "key",
          "name",
          "type",
          "updatedAt",
          "version",
          "visibility",
        ].sort(),
      );
    });

    test("a key is unique per tenant", async () => {
      const [one, two] = [fresh("tenant"), fresh("tenant")];
      const { store } = host();
      const input = flagInput();
      await store.createFlag(by(one), input);
      await store.createFlag(by(two), input);
      expect(await refusalOf(store.createFlag(by(one), input))).toMatchObject({
        code: "VALIDATION_ERROR",
        status: 409,
        details: { field: "key" },
      });
    });

    test(`keys that differ only in case ${traits.keysThatDifferInCase}`, async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const flag = await store.createFlag(by(tenant), flagInput());
      const second = store.createFlag(by(tenant), flagInput({ key: flag.key.toUpperCase() }));
      if (traits.keysThatDifferInCase === "are two flags") {
        expect((await second).key).toBe(flag.key.toUpperCase());
      } else {
        const { status, message } = await refusalOf(second);
        expect(status).toBe(409);
        expect(message).toContain(`"${flag.key}"`);
      }
    });

    test("a flag may be renamed to its own key in another case, and not to a key that is taken", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const { id, key } = await store.createFlag(by(tenant), flagInput());
      const other = await store.createFlag(by(tenant), flagInput());
      expect((await store.updateFlag(by(tenant), id, { key: key.toUpperCase() })).key).toBe(
        key.toUpperCase(),
      );
      expect(await refusalOf(store.updateFlag(by(tenant), id, { key: other.key }))).toMatchObject({
        status: 409,
        details: { field: "key" },
      });
      const { snapshot } = await store.snapshot(tenant);
      expect([...snapshot.flags.keys()].sort()).toEqual([key.toUpperCase(), other.key].sort());
    });

    test.each(["", "nothing", "'; --", "\0", "%", "🚢".repeat(300), "019a0000-0000-7000-8000-000000000000"])(
      "the id %j belongs to nothing: 404 on every method, and no error of the database",
      async (id) => {
        const tenant = fresh("tenant");
        const { store } = host();
        const flag = await store.createFlag(by(tenant), flagInput());
        const scope = by(tenant);
        const calls: [string, () => Promise<unknown>][] = [
          ["flag", () => store.getFlag(tenant, id)],
          ["flag", () => store.updateFlag(scope, id, {})],
          ["flag", () => store.deleteFlag(scope, id)],
          ["flag", () => store.listRules(tenant, id)],
          ["flag", () => store.createRule(scope, id, { priority: 1, conditions: everyone, value: true })],
          ["flag", () => store.createOverride(scope, { flagId: id, userId: "u", value: true })],
          ["rule", () => store.updateRule(scope, flag.id, id, {})],
          ["rule", () => store.deleteRule(scope, flag.id, id)],
          ["override", () => store.deleteOverride(scope, id)],
          ["segment", () => store.getSegment(tenant, id)],
          ["segment", () => store.updateSegment(scope, id, {})],
          ["segment", () => store.deleteSegment(scope, id)],
        ];
        for (const [entity, call] of calls) {
          expect(await refusalOf(call())).toMatchObject({
            code: "FLAG_NOT_FOUND",
            status: 404,
            details: { entity },
          });
        }
        for (const entity of ["flag", "override", "segment"] as const) {
          expect(await store.tenantOf(entity, id)).toBeUndefined();
        }
        expect(await store.listAudit({ tenant }, { flagId: id, limit: 1, offset: 0 })).toEqual([]);
      },
    );

    test("a flag of another tenant is not found by its id", async () => {
      const [mine, theirs] = [fresh("tenant"), fresh("tenant")];
      const { store } = host();
      const flag = await store.createFlag(by(theirs), flagInput());
      const rule = await store.createRule(by(theirs), flag.id, {
        priority: 1,
        conditions: everyone,
        value: true,
      });
      const override = await store.createOverride(by(theirs), { flagId: flag.id, userId: "u", value: true });
      const segment = await store.createSegment(by(theirs), { key: "s", conditions: everyone });
      const scope = by(mine);
      const calls = [
        () => store.getFlag(mine, flag.id),
        () => store.updateFlag(scope, flag.id, { name: "mine" }),
        () => store.deleteFlag(scope, flag.id),
        () => store.listRules(mine, flag.id),
        () => store.createRule(scope, flag.id, { priority: 1, conditions: everyone, value: true }),
        () => store.updateRule(scope, flag.id, rule.id, {}),
        () => store.deleteRule(scope, flag.id, rule.id),
        () => store.createOverride(scope, { flagId: flag.id, userId: "v", value: true }),
        () => store.deleteOverride(scope, override.id),
        () => store.getSegment(mine, segment.id),
        () => store.updateSegment(scope, segment.id, { name: "mine" }),
        () => store.deleteSegment(scope, segment.id),
      ];
      for (const call of calls) expect((await refusalOf(call())).status).toBe(404);
      expect(await store.getFlag(theirs, flag.id)).toEqual(stored(flag));
      expect(await store.tenantOf("flag", flag.id)).toBe(theirs);
      expect(await store.tenantOf("override", override.id)).toBe(theirs);
      expect(await store.tenantOf("segment", segment.id)).toBe(theirs);
      expect((await store.snapshot(mine)).snapshot.flags.size).toBe(0);
    });

    describe("a change", () => {
      test("changes only the given fields; null clears an optional field", async () => {
        const tenant = fresh("tenant");
        const { store } = host();
        const flag = await store.createFlag(
          by(tenant),
          flagInput({ type: "number", defaultValue: 1, description: "d", salt: "s", metadata: { a: 1 } }),
        );
        const named = await store.updateFlag(by(tenant), flag.id, { name: "M" });
        expect(named).toEqual({ ...flag, name: "M", version: 2, updatedAt: named.updatedAt });
        expect(await store.getFlag(tenant, flag.id)).toEqual(stored(named));
        const cleared = await store.updateFlag(by(tenant), flag.id, {
          description: null,
          defaultValue: null,
          salt: null,
          metadata: null,
        });
        expect(Object.keys(cleared)).not.toEqual(expect.arrayContaining(["description"]));
        expect(stored(cleared)).toEqual(await store.getFlag(tenant, flag.id));
        expect(cleared).toMatchObject({ name: "M", version: 3 });
        expect("defaultValue" in cleared || "salt" in cleared || "metadata" in cleared).toBe(false);
      });

      test("of a json flag's default to null is a value, not its removal", async () => {
        const tenant = fresh("tenant");
        const { store } = host();
        const flag = await store.createFlag(by(tenant), flagInput({ type: "json", defaultValue: [1] }));
        const changed = await store.updateFlag(by(tenant), flag.id, { defaultValue: null });
        expect(changed.defaultValue).toBeNull();
        expect(await store.getFlag(tenant, flag.id)).toEqual(stored(changed));
      });

      test("with a stale version is refused with 409, and so is a deletion", async () => {
        const tenant = fresh("tenant");
        const { store } = host();
        const flag = await store.createFlag(by(tenant), flagInput());
        await store.updateFlag(by(tenant), flag.id, { name: "M" }, 1);
        const stale = { code: "VALIDATION_ERROR", status: 409, details: { field: "version", version: 2 } };
        expect(await refusalOf(store.updateFlag(by(tenant), flag.id, {}, 1))).toMatchObject(stale);
        expect(await refusalOf(store.deleteFlag(by(tenant), flag.id, 1))).toMatchObject(stale);
        await store.deleteFlag(by(tenant), flag.id, 2);
        expect((await refusalOf(store.getFlag(tenant, flag.id))).status).toBe(404);
      });

      test("that makes the flag too large for every database is refused with the limit", async () => {
        const tenant = fresh("tenant");
        const { store } = host();
        const long = "ü".repeat(16_000);
        const { id } = await store.createFlag(by(tenant), flagInput({ type: "string", defaultValue: long }));
        expect(
          await refusalOf(store.updateFlag(by(tenant), id, { metadata: { long, longer: long } })),
        ).toMatchObject({ code: "VALIDATION_ERROR", status: 400, details: { limit: 65_000 } });
        expect(await store.updateFlag(by(tenant), id, { metadata: { long } })).toMatchObject({ version: 2 });
      });
    });

    describe("values fit the type", () => {
      const misfits: [string, Partial<Parameters<typeof flagInput>[0]>][] = [
        ["defaultValue", { defaultValue: "x" }],
        ["variants.1.value", { variants: [variant("a", true), variant("b", 1)] }],
        ["environments.e.defaultValue", { environments: { e: { defaultValue: "no" } } }],
      ];

      test.each(misfits)("%s that does not is refused, on creation and on change", async (field, fields) => {
        const tenant = fresh("tenant");
        const { store } = host();
        const expected = { code: "INVALID_FLAG_TYPE", status: 400, details: { field, type: "boolean" } };
        expect(await refusalOf(store.createFlag(by(tenant), flagInput(fields)))).toMatchObject(expected);
        const { id } = await store.createFlag(by(tenant), flagInput());
        const { variants, environments, defaultValue } = fields ?? {};
        const patch = { variants, environments, defaultValue };
        expect(await refusalOf(store.updateFlag(by(tenant), id, patch))).toMatchObject(expected);
      });

      test("a new type is refused while a stored value does not fit it, and accepted otherwise", async () => {
        const tenant = fresh("tenant");
        const { store } = host();
        const scope = by(tenant);
        const { id } = await store.createFlag(scope, flagInput({ type: "boolean" }));
        const toType = (type: FlagType) => store.updateFlag(scope, id, { type });
        const rule = await store.createRule(scope, id, { priority: 1, conditions: everyone, value: true });
        expect(await refusalOf(toType("string"))).toMatchObject({
          code: "INVALID_FLAG_TYPE",
          details: { field: "type", ruleId: rule.id },
        });
        await store.deleteRule(scope, id, rule.id);
        const override = await store.createOverride(scope, { flagId: id, userId: "u", value: false });
        expect(await refusalOf(toType("string"))).toMatchObject({
          code: "INVALID_FLAG_TYPE",
          details: { field: "type", overrideId: override.id },
        });
        expect((await toType("json")).type).toBe("json");
        expect((await toType("boolean")).type).toBe("boolean");
        await store.deleteOverride(scope, override.id);
        expect((await toType("string")).type).toBe("string");
      });
    });

    test("a variant that a rule or an override uses cannot be removed", async () => {
      const tenant = fresh("tenant");
      const { store } = host();
      const scope = by(tenant);
      const variants = ["a", "b", "c", "A"].map((key) => variant(key, true, 25));
      const { id } = await store.createFlag(scope, flagInput({ variants }));
      const rule = await store.createRule(scope, id, { priority: 1, conditions: everyone, variant: "a" });
      const override = await store.createOverride(scope, {
        flagId: id,
        userId: "u",
        value: true,
        variant: "b",
      });
      const keep = (...keys: string[]) =>
        store.updateFlag(scope, id, { variants: keys.map((key) => variant(key, true, 100 / keys.length)) });
      const inUse = (entity: string, entityId: string) => ({
        code: "VALIDATION_ERROR",
        status: 409,
        details: { field: "variants", entity, id: entityId },
      });
      expect(await refusalOf(keep("b", "c", "A"))).toMatchObject(inUse("rule", rule.id));
      expect(await refusalOf(keep("a", "c"))).toMatchObject(inUse("override", override.id));
      expect(await refusalOf(store.updateFlag(scope, id, { variants: null }))).toMatchObject({ status: 409 });
      expect((await keep("a", "b")).variants).toHaveLength(2);
    });

    test("deleting a flag deletes its rules and overrides, in one write", async () => {
      const tenant = fresh("tenant");
      const { store, adapter } = host();
      const scope = by(tenant);
      const { id, key } = await store.createFlag(scope, flagInput({ enabled: true }));
      const kept = await store.createFlag(scope, flagInput());
      await store.createRule(scope, id, { priority: 1, conditions: everyone, value: true });
      await store.createRule(scope, kept.id, { priority: 1, conditions: everyone, value: true });
      await store.createOverride(scope, { flagId: id, userId: "u", value: true });
      await store.createOverride(scope, { flagId: kept.id, userId: "u", value: true });
      await store.deleteFlag(scope, id);

      const [last] = await store.listAudit({ tenant }, { limit: 1, offset: 0 });
      expect(last).toMatchObject({ action: "flag.deleted", revision: 7, flagKey: key, after: null });
      for (const model of ["featureFlag", "featureFlagRule", "featureFlagOverride"]) {
        const rows = await adapter.findMany<FlagRow>({ model, where: [{ field: "tenant", value: tenant }] });
        expect(
          rows.map(({ flagId }) => flagId),
          model,
        ).toEqual([kept.id]);
      }
      const { snapshot } = await store.snapshot(tenant);
      expect([...snapshot.flags.keys()]).toEqual([kept.key]);
      expect(snapshot.override(id, "u", 0)).toBeUndefined();
      expect(snapshot.override(kept.id, "u", 0)?.value).toBe(true);
    });
  });
}

const variant = (key: string, value: JsonValue, weight = 50) => ({ key, weight, value });
