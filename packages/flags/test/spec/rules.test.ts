/** Checks the fields of rules, and the order in which the server tries rules. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers, ISO } from "./flag-helpers.ts";
import { everyone, WAYS, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-targeting: Rules (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make, evaluated } = flagHelpers(way);

  const refuseRule = async (rule: Record<string, unknown>, code = "VALIDATION_ERROR") => {
    const { id } = await make({ variants: [{ key: "v", weight: 100, value: "x" }] });
    const answer = await way().createRule(id, { priority: 1, conditions: everyone, value: "x", ...rule });
    expect([answer.status, answer.json.code], JSON.stringify(rule)).toEqual([400, code]);
  };

  test("every field is returned as sent", async () => {
    const flag = await make({ variants: [{ key: "v", weight: 100, value: "x" }] });
    const fields = {
      priority: 2.5,
      name: "R",
      conditions: when("plan", "in", ["a"]),
      value: "r",
      variant: "v",
      percentage: 12.5,
      environments: ["staging"],
      enabled: false,
    };
    const { status, json } = await way().createRule(flag.id, fields);
    expect(status).toBe(201);
    expect(json).toMatchObject({
      ...fields,
      flagId: flag.id,
      version: 1,
      createdAt: expect.stringMatching(ISO),
    });
    expect(json.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("a rule has a salt and a position, which a change may replace", async () => {
    const { id } = await make();
    const add = async (fields: object = {}) =>
      (await way().createRule(id, { priority: 1, conditions: everyone, value: "r", ...fields })).json;
    const first = await add();
    expect([first.salt, typeof first.position]).toEqual([first.id, "number"]);
    const copied = await add({ salt: "copied", position: first.position + 1000 });
    expect(copied).toMatchObject({ salt: "copied", position: first.position + 1000 });
    const last = await add();
    expect(last.position).toBe(copied.position + 1);
    expect((await way().listRules(id)).json.rules).toEqual([first, copied, last]);
    const moved = await way().updateRule(id, last.id, { salt: "other", position: 0 });
    expect(moved.json).toMatchObject({ salt: "other", position: 0, version: 2 });
    const { rules } = (await way().listRules(id)).json;
    expect(rules.map((rule: { id: string }) => rule.id)).toEqual([last.id, first.id, copied.id]);
    for (const fields of [
      { salt: "" },
      { salt: null },
      { position: -1 },
      { position: 1.5 },
      { position: 2e9 },
    ]) {
      expect((await way().updateRule(id, last.id, fields)).status).toBe(400);
    }
  });

  test("a copy of a rule with its salt includes the same users", async () => {
    const key = newKey();
    const values = async (flagKey: string) => {
      const rows: unknown[] = [];
      for (let user = 0; user < 100; user++)
        rows.push((await evaluated(flagKey, { userId: `u${user}` })).reason);
      return rows;
    };
    const original = await make({ key });
    const rule = { priority: 1, conditions: everyone, value: "r", percentage: 50 };
    const { salt } = (await way().createRule(original.id, rule)).json;
    const before = await values(key);
    await way().deleteFlag(original.id);
    const copy = await make({ key });
    await way().createRule(copy.id, { ...rule, salt });
    expect(await values(key)).toEqual(before);
  });

  test("priority and conditions are required", async () => {
    await refuseRule({ priority: undefined });
    await refuseRule({ priority: "1" });
    await refuseRule({ conditions: undefined });
    await refuseRule({ conditions: [] });
  });

  test("rules are tried by ascending priority, then in the order of their creation", async () => {
    const flag = await make();
    for (const [priority, value] of [
      [5, "five"],
      [1, "first"],
      [1, "second"],
      [-3, "least"],
    ] as const) {
      const conditions = value === "least" ? when("plan", "equals", "pro") : everyone;
      await way().createRule(flag.id, { priority, conditions, value });
    }
    const { rules } = (await way().listRules(flag.id)).json;
    expect(rules.map((rule: { value: string }) => rule.value)).toEqual(["least", "first", "second", "five"]);
    expect((await evaluated(flag.key)).value).toBe("first");
    expect((await evaluated(flag.key, { attributes: { plan: "pro" } })).value).toBe("least");
  });

  test("a rule needs a value of the flag's type or one of the flag's variants", async () => {
    await refuseRule({ value: 5 }, "INVALID_FLAG_TYPE");
    await refuseRule({ value: undefined });
    await refuseRule({ variant: "none" });
  });

  test("a matching rule returns its variant, and the variant's value if the rule has no value", async () => {
    const flag = await make({
      variants: [
        { key: "a", weight: 100, value: "A" },
        { key: "b", weight: 0, value: "B" },
      ],
    });
    await way().createRule(flag.id, { priority: 1, conditions: when("p", "equals", 1), variant: "b" });
    await way().createRule(flag.id, {
      priority: 2,
      conditions: when("p", "equals", 2),
      variant: "b",
      value: "own",
    });
    expect(await evaluated(flag.key, { attributes: { p: 1 } })).toMatchObject({ value: "B", variant: "b" });
    expect(await evaluated(flag.key, { attributes: { p: 2 } })).toMatchObject({
      value: "own",
      variant: "b",
    });
  });

  test("only the given percentage of callers matches, and a disabled rule is skipped", async () => {
    for (const [rule, reason] of [
      [{ percentage: 0 }, "default"],
      [{ percentage: 100 }, "rule_match"],
      [{ enabled: false }, "default"],
    ] as const) {
      const flag = await make();
      await way().createRule(flag.id, { priority: 1, conditions: everyone, value: "r", ...rule });
      expect((await evaluated(flag.key, { userId: "u" })).reason).toBe(reason);
    }
    await refuseRule({ percentage: 101 });
    await refuseRule({ enabled: 1 });
    await refuseRule({ colour: "red" });
  });
});
