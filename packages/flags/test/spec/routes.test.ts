/** Checks that every operation works over HTTP and through the server methods, with the same results. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { everyone, WAYS, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-http: Routes (%s)", (_name, by) => {
  const way = () => by({ host, admin });

  test("the evaluation routes evaluate one flag, several flags, or all enabled flags", async () => {
    const prefix = newKey("one");
    const keys = [`${prefix}-a`, `${prefix}-b`];
    for (const key of keys) {
      await way().createFlag({ key, name: "N", type: "string", enabled: true, defaultValue: key });
    }
    expect((await way().evaluate({ flagKey: keys[0] })).json.value).toBe(keys[0]);
    const batch = await way().batch({ flagKeys: keys, select: "value" });
    const all = await way().bootstrap({ prefix, select: "value" });
    const expected = Object.fromEntries(keys.map((key) => [key, key]));
    expect([batch.json.flags, all.json.flags]).toEqual([expected, expected]);
  });

  test("the evaluation routes support four flag types, rollouts, variants, nested conditions and overrides", async () => {
    for (const [type, value] of [
      ["boolean", true],
      ["string", "s"],
      ["number", 1.5],
      ["json", { a: [1] }],
    ] as const) {
      const key = newKey();
      const variants = [{ key: "only", weight: 100, value }];
      const { json: flag } = await way().createFlag({
        key,
        name: "N",
        type,
        enabled: true,
        rolloutPercentage: 100,
        variants,
      });
      expect((await way().evaluate({ flagKey: key })).json).toMatchObject({ value, variant: "only" });
      const conditions = {
        operator: "OR",
        conditions: [{ conditions: [when("plan", "equals", "pro"), when("seats", "greater_than", 5)] }],
      };
      await way().createRule(flag.id, { priority: 1, conditions, value });
      const context = { attributes: { plan: "pro", seats: 6 } };
      expect((await way().evaluate({ flagKey: key, context })).json.reason).toBe("rule_match");
      await way().createOverride({ flagId: flag.id, userId: "u", value });
      expect((await way().evaluate({ flagKey: key, context: { userId: "u" } })).json.reason).toBe("override");
    }
  });

  test("the admin routes create, list, change and delete flags, rules and overrides, and read the audit log", async () => {
    const { json: flag } = await way().createFlag({
      key: newKey(),
      name: "N",
      type: "boolean",
      defaultValue: true,
      offValue: false,
    });
    const { json: rule } = await way().createRule(flag.id, {
      priority: 1,
      conditions: everyone,
      value: true,
    });
    const { json: override } = await way().createOverride({ flagId: flag.id, userId: "u", value: true });
    expect((await way().listFlags({ prefix: flag.key })).json.flags).toEqual([flag]);
    expect((await way().listRules(flag.id)).json.rules).toEqual([rule]);
    expect((await way().listOverrides({ flagId: flag.id })).json.overrides).toEqual([override]);
    expect((await way().updateFlag(flag.id, { name: "M" })).json.name).toBe("M");
    expect((await way().deleteFlag(flag.id)).status).toBe(204);
    const { entries } = (await way().listAudit({ flagId: flag.id })).json;
    expect(entries.map((entry: { action: string }) => entry.action)).toEqual([
      "flag.deleted",
      "flag.updated",
      "override.created",
      "rule.created",
      "flag.created",
    ]);
  });
});

describe.each(WAYS)("guide/flags-quick-start: How it works (%s)", (_name, by) => {
  const way = () => by({ host, admin });

  test("the next evaluation reflects every create, update and delete", async () => {
    const key = newKey();
    const seen = async (userId?: string) => {
      const { json } = await way().evaluate({ flagKey: key, context: { userId } });
      return `${json.reason}:${json.value}`;
    };
    expect(await seen()).toBe("not_found:null");
    const { json: flag } = await way().createFlag({
      key,
      name: "N",
      type: "number",
      enabled: true,
      defaultValue: 1,
    });
    expect(await seen()).toBe("default:1");
    await way().updateFlag(flag.id, { defaultValue: 2 });
    expect(await seen()).toBe("default:2");
    const { json: rule } = await way().createRule(flag.id, { priority: 1, conditions: everyone, value: 3 });
    expect(await seen()).toBe("rule_match:3");
    const path = `/feature-flags/admin/flags/${flag.id}/rules/${rule.id}`;
    await host.call("PATCH", path, { as: admin, body: { value: 4 } });
    expect(await seen()).toBe("rule_match:4");
    const { json: override } = await way().createOverride({ flagId: flag.id, userId: "u", value: 5 });
    expect(await seen("u")).toBe("override:5");
    await host.call("DELETE", `/feature-flags/admin/overrides/${override.id}`, { as: admin });
    expect(await seen("u")).toBe("rule_match:4");
    await host.call("DELETE", path, { as: admin });
    expect(await seen("u")).toBe("default:2");
    await way().deleteFlag(flag.id);
    expect(await seen()).toBe("not_found:null");
  });
});

describe("guide/flags-http: Routes", () => {
  test("every operation returns the same status, fields and values over HTTP and through the server methods", async () => {
    const [http, methods] = WAYS.map(([, by]) => by({ host, admin }));
    if (http === undefined || methods === undefined)
      throw new Error("WAYS must list HTTP and the server methods.");
    const body = { name: "N", type: "json", enabled: true, defaultValue: { at: "2026-01-02T03:04:05.000Z" } };
    const created = [
      await http.createFlag({ key: newKey(), ...body }),
      await methods.createFlag({ key: newKey(), ...body }),
    ];
    expect(created.map(({ status }) => status)).toEqual([201, 201]);
    expect(Object.keys(created[0]?.json)).toEqual(Object.keys(created[1]?.json));
    const { id, key } = created[0]?.json ?? {};
    for (const [one, other] of [
      [await http.listFlags({ prefix: key }), await methods.listFlags({ prefix: key })],
      [await http.listRules(id), await methods.listRules(id)],
      [await http.listOverrides({ flagId: id }), await methods.listOverrides({ flagId: id })],
      [await http.listAudit({ flagId: id }), await methods.listAudit({ flagId: id })],
      [
        await http.updateFlag(id, { rolloutPercentage: 101 }),
        await methods.updateFlag(id, { rolloutPercentage: 101 }),
      ],
      [await http.updateFlag("nope", { name: "M" }), await methods.updateFlag("nope", { name: "M" })],
    ] as const) {
      expect([one.status, one.json]).toEqual([other.status, other.json]);
    }
    const context = { userId: "u", attributes: { a: 1 } };
    for (const body of [
      { flagKey: key, context, contextInResponse: true },
      { flagKey: key, context, select: "value" },
    ]) {
      const answers = [await http.evaluate(body), await methods.evaluate(body)].map(({ json }) => ({
        ...json,
        evaluatedAt: null,
      }));
      expect(answers[0]).toEqual(answers[1]);
    }
  });
});
