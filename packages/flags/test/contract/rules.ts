/** The contract of the store for rules and segments. */
import { describe, expect, test } from "vitest";
import type { RuleConditions } from "../../src/engine/definition.ts";
import { by, everyone, flagInput, fresh, refusalOf, type StoreHost, stored } from "./store-host.ts";

const named = (key: string): RuleConditions => ({ conditions: [{ segment: key }] });
const country = (value: string): RuleConditions => ({
  conditions: [{ attribute: "geo.country", operator: "equals", value }],
});
const patterns = (count: number): RuleConditions => ({
  conditions: Array.from({ length: count }, (_, index) => ({
    attribute: "email",
    operator: "regex" as const,
    value: `^x${index}$`,
  })),
});

export function describeRules(host: () => StoreHost): void {
  async function setUp(fields: Parameters<typeof flagInput>[0] = {}) {
    const tenant = fresh("tenant");
    const { store } = host();
    const scope = by(tenant);
    const flag = await store.createFlag(scope, flagInput({ enabled: true, ...fields }));
    const evaluate = async (context: object) =>
      (await store.snapshot(tenant)).snapshot.flags.get(flag.key)?.compiled.evaluate(context);
    return { tenant, store, scope, flag, evaluate };
  }

  describe("rules", () => {
    test("every field is stored and returned", async () => {
      const { tenant, store, scope, flag } = await setUp({
        type: "json",
        variants: [{ key: "v", weight: 100, value: 1 }],
      });
      const fields = {
        priority: 0.25,
        name: "Rüle",
        conditions: {
          operator: "OR" as const,
          conditions: [country("NO").conditions[0] as never],
          not: everyone,
        },
        value: { a: [null] },
        variant: "v",
        percentage: 12.5,
        environments: ["staging", "ümlaut", "__proto__"],
        enabled: false,
        salt: "copied",
        position: 1_000_000_000,
      };
      const rule = await store.createRule(scope, flag.id, fields);
      expect(rule).toMatchObject({ ...fields, flagId: flag.id, version: 1 });
      expect(await store.listRules(tenant, flag.id)).toEqual([rule]);
      const second = await store.createRule(scope, flag.id, {
        priority: 1,
        conditions: everyone,
        value: null,
      });
      expect(second).toMatchObject({ enabled: true, value: null });
      expect(second.salt).toBe(second.id);
      const given = ["conditions", "enabled", "priority", "value", "salt", "position"];
      const added = ["id", "flagId", "version", "createdAt"];
      expect(Object.keys(stored(second)).sort()).toEqual([...given, ...added].sort());
    });

    test("are listed and evaluated by priority, and by creation within a priority", async () => {
      const { tenant, store, scope, flag, evaluate } = await setUp({ type: "number" });
      for (const [priority, value] of [
        [2, 1],
        [-1.5, 2],
        [10, 3],
        [2, 4],
        [2, 5],
      ] as const) {
        await store.createRule(scope, flag.id, { priority, conditions: everyone, value });
      }
      const order = async () => (await store.listRules(tenant, flag.id)).map(({ value }) => value);
      expect(await order()).toEqual([2, 1, 4, 5, 3]);
      expect(await evaluate({})).toMatchObject({ value: 2, reason: "rule_match" });
      const [first, second] = await store.listRules(tenant, flag.id);
      await store.updateRule(scope, flag.id, first?.id ?? "", { enabled: false });
      expect(await evaluate({})).toMatchObject({ value: 1 });
      await store.updateRule(scope, flag.id, second?.id ?? "", { priority: 11 });
      expect(await order()).toEqual([2, 4, 5, 3, 1]);
      expect(await evaluate({})).toMatchObject({ value: 4 });
    });

    test("a change changes only the given fields, and increments the version", async () => {
      const { tenant, store, scope, flag } = await setUp({
        variants: [{ key: "v", weight: 100, value: true }],
      });
      const rule = await store.createRule(scope, flag.id, {
        priority: 1,
        name: "N",
        conditions: everyone,
        value: true,
        percentage: 5,
      });
      const changed = await store.updateRule(scope, flag.id, rule.id, { variant: "v", value: null });
      const { value: _gone, ...rest } = rule;
      expect(changed).toEqual({ ...rest, variant: "v", version: 2 });
      expect(await refusalOf(store.updateRule(scope, flag.id, rule.id, {}, 1))).toMatchObject({
        status: 409,
        details: { field: "version", version: 2 },
      });
      expect(await refusalOf(store.deleteRule(scope, flag.id, rule.id, 1))).toMatchObject({ status: 409 });
      await store.updateRule(scope, flag.id, rule.id, { name: null, percentage: null }, 2);
      const [last] = await store.listRules(tenant, flag.id);
      expect(last && ("name" in last || "percentage" in last)).toBe(false);
      await store.deleteRule(scope, flag.id, rule.id, 3);
      expect(await store.listRules(tenant, flag.id)).toEqual([]);
    });

    test("need a value of the flag's type, or one of its variants", async () => {
      const { store, scope, flag } = await setUp({ variants: [{ key: "v", weight: 100, value: true }] });
      const create = (fields: object) =>
        store.createRule(scope, flag.id, { priority: 1, conditions: everyone, ...fields });
      expect(await refusalOf(create({ value: "x" }))).toMatchObject({
        code: "INVALID_FLAG_TYPE",
        status: 400,
        details: { field: "value" },
      });
      expect(await refusalOf(create({}))).toMatchObject({
        code: "VALIDATION_ERROR",
        details: { field: "value" },
      });
      expect(await refusalOf(create({ variant: "w" }))).toMatchObject({
        code: "VALIDATION_ERROR",
        status: 400,
        details: { field: "variant" },
      });
      const rule = await create({ variant: "v" });
      expect(await refusalOf(store.updateRule(scope, flag.id, rule.id, { variant: null }))).toMatchObject({
        status: 400,
      });
      expect(await refusalOf(store.updateRule(scope, flag.id, rule.id, { value: 7 }))).toMatchObject({
        code: "INVALID_FLAG_TYPE",
      });
    });

    test("of another flag are not found under this one", async () => {
      const { tenant, store, scope, flag } = await setUp();
      const other = await store.createFlag(scope, flagInput());
      const rule = await store.createRule(scope, other.id, {
        priority: 1,
        conditions: everyone,
        value: true,
      });
      expect(await refusalOf(store.updateRule(scope, flag.id, rule.id, {}))).toMatchObject({
        status: 404,
        details: { entity: "rule" },
      });
      expect(await refusalOf(store.deleteRule(scope, flag.id, rule.id))).toMatchObject({ status: 404 });
      expect(await store.listRules(tenant, flag.id)).toEqual([]);
    });

    test("conditions that the engine rejects are refused, even if validation let them through", async () => {
      const { tenant, store, scope, flag } = await setUp();
      const conditions = { conditions: [{ attribute: "a", operator: "is", value: 1 }] } as never;
      const refusal = await refusalOf(
        store.createRule(scope, flag.id, { priority: 1, conditions, value: true }),
      );
      expect(refusal).toMatchObject({ code: "VALIDATION_ERROR", status: 400 });
      expect(await store.listRules(tenant, flag.id)).toEqual([]);
    });
  });

  describe("segments", () => {
    test("every field is stored and returned; a change changes only the given fields", async () => {
      const { tenant, store, scope } = await setUp();
      const input = { key: "beta", name: "Betä", conditions: country("NO"), organizationId: tenant };
      const segment = await store.createSegment(scope, input);
      expect(segment).toMatchObject({ ...input, version: 1 });
      expect(await store.getSegment(tenant, segment.id)).toEqual(segment);
      const changed = await store.updateSegment(scope, segment.id, { name: null }, 1);
      expect(changed).toMatchObject({ key: "beta", conditions: country("NO"), version: 2 });
      expect("name" in changed).toBe(false);
      expect(await store.getSegment(tenant, segment.id)).toEqual(changed);
      const stale = { status: 409, details: { field: "version", version: 2 } };
      expect(await refusalOf(store.updateSegment(scope, segment.id, {}, 1))).toMatchObject(stale);
      expect(await refusalOf(store.deleteSegment(scope, segment.id, 1))).toMatchObject(stale);
      expect(await refusalOf(store.createSegment(scope, input))).toMatchObject({
        status: 409,
        details: { field: "key" },
      });
    });

    test("a change of a segment changes the flags that use it, directly or through others", async () => {
      const { store, scope, flag, evaluate } = await setUp();
      const inner = await store.createSegment(scope, { key: "inner", conditions: country("NO") });
      await store.createSegment(scope, { key: "outer", conditions: named("inner") });
      await store.createRule(scope, flag.id, { priority: 1, conditions: named("outer"), value: true });
      expect(await evaluate({ geo: { country: "NO" } })).toMatchObject({ value: true, reason: "rule_match" });
      await store.updateSegment(scope, inner.id, { conditions: country("SE") });
      expect(await evaluate({ geo: { country: "NO" } })).toMatchObject({ value: false });
      expect(await evaluate({ geo: { country: "SE" } })).toMatchObject({ value: true });
    });

    test("a rule or a segment cannot use a missing segment or one of another tenant", async () => {
      const { store, scope, flag } = await setUp();
      await store.createSegment(by(fresh("tenant")), { key: "theirs", conditions: everyone });
      for (const key of ["nobody", "theirs", "__proto__"]) {
        const refusals = [
          () => store.createRule(scope, flag.id, { priority: 1, conditions: named(key), value: true }),
          () => store.createSegment(scope, { key: "s", conditions: named(key) }),
        ];
        for (const refused of refusals) {
          expect(await refusalOf(refused())).toMatchObject({ code: "VALIDATION_ERROR", status: 400 });
        }
      }
    });

    test("cycles of segments are refused", async () => {
      const { store, scope } = await setUp();
      expect(
        await refusalOf(store.createSegment(scope, { key: "self", conditions: named("self") })),
      ).toMatchObject({
        status: 400,
      });
      const a = await store.createSegment(scope, { key: "a", conditions: everyone });
      await store.createSegment(scope, { key: "b", conditions: named("a") });
      await store.createSegment(scope, { key: "c", conditions: named("b") });
      expect(await refusalOf(store.updateSegment(scope, a.id, { conditions: named("c") }))).toMatchObject({
        code: "VALIDATION_ERROR",
        status: 400,
        details: { field: "conditions" },
      });
    });

    test("a segment in use cannot be deleted", async () => {
      const { tenant, store, scope, flag } = await setUp();
      const inner = await store.createSegment(scope, { key: "inner", conditions: everyone });
      const outer = await store.createSegment(scope, { key: "outer", conditions: named("inner") });
      const rule = await store.createRule(scope, flag.id, {
        priority: 1,
        conditions: { conditions: [], not: named("outer") },
        value: true,
      });
      const used = { code: "VALIDATION_ERROR", status: 409 };
      expect(await refusalOf(store.deleteSegment(scope, inner.id))).toMatchObject(used);
      expect(await refusalOf(store.deleteSegment(scope, outer.id))).toMatchObject(used);
      await store.deleteRule(scope, flag.id, rule.id);
      await store.deleteSegment(scope, outer.id);
      await store.deleteSegment(scope, inner.id);
      expect((await refusalOf(store.getSegment(tenant, inner.id))).status).toBe(404);
    });

    test("a flag has at most 8 regex conditions, including those of its segments", async () => {
      const { store, scope, flag } = await setUp();
      const segment = await store.createSegment(scope, { key: "s", conditions: patterns(3) });
      const rule = (conditions: RuleConditions) => ({ priority: 1, conditions, value: true });
      await store.createRule(scope, flag.id, rule(patterns(5)));
      await store.createRule(scope, flag.id, rule(named("s")));
      const over = { code: "VALIDATION_ERROR", status: 400, details: { limit: 8 } };
      expect(await refusalOf(store.createRule(scope, flag.id, rule(patterns(1))))).toMatchObject(over);
      expect(
        await refusalOf(store.updateSegment(scope, segment.id, { conditions: patterns(4) })),
      ).toMatchObject(over);
      await store.updateSegment(scope, segment.id, { conditions: patterns(2) });
      await store.createRule(scope, flag.id, rule(patterns(1)));
    });
  });
}
