/** Checks which contexts the conditions of a rule match, and which conditions the server refuses. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers } from "./flag-helpers.ts";
import { everyone, WAYS, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const a = { attribute: "a", operator: "equals", value: 1 };
const b = { attribute: "b", operator: "equals", value: 1 };

describe.each(WAYS)("guide/flags-targeting: Condition groups (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { matches } = flagHelpers(way);

  test("conditions are combined with AND by default or with OR, nest, can be negated, and match everyone if empty", async () => {
    expect(await matches({ conditions: [a, b] }, { a: 1 })).toBe(false);
    expect(await matches({ operator: "AND", conditions: [a, b] }, { a: 1, b: 1 })).toBe(true);
    expect(await matches({ operator: "OR", conditions: [a, b] }, { a: 1 })).toBe(true);
    expect(await matches({ conditions: [a, { operator: "OR", conditions: [b, a] }] }, { a: 1 })).toBe(true);
    expect(await matches({ conditions: [a], not: { conditions: [b] } }, { a: 1 })).toBe(true);
    expect(await matches({ conditions: [a], not: { conditions: [b] } }, { a: 1, b: 1 })).toBe(false);
    expect(await matches(everyone, {})).toBe(true);
  });
});

describe.each(WAYS)("guide/flags-targeting: Attributes (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make, evaluated, matches } = flagHelpers(way);

  test("an attribute is a dotted path into the context", async () => {
    expect(
      await matches(when("attributes.account.plan", "equals", "pro"), { account: { plan: "pro" } }),
    ).toBe(true);
    expect(await matches(when("account.plan", "equals", "pro"), { account: { plan: "pro" } })).toBe(true);
    expect(await matches(when("account.plan", "equals", "pro"), { "account.plan": "pro" })).toBe(false);
  });

  test.each([
    ["userId", { userId: "x" }],
    ["email", { email: "x" }],
    ["role", { role: "x" }],
    ["organizationId", { organizationId: "x" }],
    ["anonymousId", { anonymousId: "x" }],
    ["attributes.any", { attributes: { any: "x" } }],
    ["device.os", { device: { os: "x" } }],
    ["geo.country", { geo: { country: "x" } }],
  ])("a rule can target %s", async (attribute, context) => {
    const flag = await make();
    await way().createRule(flag.id, {
      priority: 1,
      conditions: when(attribute, "equals", "x"),
      value: "r",
    });
    // Only a caller with evaluate-as may claim all of them.
    expect((await evaluated(flag.key, context, admin.headers)).reason).toBe("rule_match");
    expect((await evaluated(flag.key, {})).reason).toBe("default");
  });

  test.each([
    ["x"],
    [{ userId: 5 }],
    [{ userId: null }],
    [{ attributes: [] }],
    [{ device: { type: "toaster" } }],
    [{ geo: "DE" }],
  ])("%j is refused as a context", async (context) => {
    const answer = await way().evaluate({ flagKey: "k", context });
    expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
  });
});

describe.each(WAYS)("guide/flags-targeting: Operators (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { matches } = flagHelpers(way);

  test.each([
    ["equals", "x", "x", "y"],
    ["not_equals", "x", "y", "x"],
    ["contains", "ell", "hello", "help"],
    ["not_contains", "ell", "help", "hello"],
    ["starts_with", "he", "hello", "oh"],
    ["ends_with", "lo", "hello", "load"],
    ["in", [1, 2], 2, 3],
    ["not_in", [1, 2], 3, 2],
    ["greater_than", 5, 6, 5],
    ["less_than", 5, 4, 5],
    ["greater_than_or_equal", 5, 5, 4],
    ["less_than_or_equal", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
    ["regex", "^a.c$", "abc", "abcd"],
  ])("%s %j matches %j and does not match %j", async (operator, value, yes, no) => {
    expect(await matches(when("x", operator, value), { x: yes })).toBe(true);
    expect(await matches(when("x", operator, value), { x: no })).toBe(false);
  });
});

describe.each(WAYS)("guide/flags-targeting: Limits (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);

  test.each<[string, object]>([
    ["an unknown operator", when("x", "like", 1)],
    ["a value for `in` that is not a list", when("x", "in", "a")],
    ["a pattern that is not a string", when("x", "regex", 5)],
    ["a pattern with a syntax error", when("x", "regex", "(")],
    ["a pattern over 256 characters", when("x", "regex", "a".repeat(257))],
    ["an object that is not a condition", { conditions: [{}] }],
    ["a negation that is not a group", { conditions: [a], not: a }],
    ["a group with an unknown operator", { operator: "XOR", conditions: [] }],
    ["a group without conditions", { operator: "AND" }],
    ["a rule with more than 200 conditions", { conditions: Array(201).fill(a) }],
    ["a list with more than 1,000 values", when("x", "in", Array(1001).fill(1))],
  ])("%s is refused when the rule is created", async (_name, conditions) => {
    const { id } = await make();
    const answer = await way().createRule(id, { priority: 1, conditions, value: "r" });
    expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test.each(["starts_with", "ends_with", "contains", "regex"])(
    "an empty text for %s is refused, in groups and segments too",
    async (operator) => {
      const { id } = await make();
      const empty = when("x", operator, "");
      const problem = `of the operator \`${operator}\` must not be empty, because every text would match; enter a text, or use \`equals\` to match the empty text`;
      for (const [conditions, path] of [
        [empty, "conditions.0"],
        [{ conditions: [{ operator: "OR", conditions: empty.conditions }] }, "conditions.0.conditions.0"],
        [{ conditions: [], not: empty }, "not.conditions.0"],
      ] as const) {
        const message = `The request is not valid. conditions.${path}.value: ${problem}`;
        const rule = await way().createRule(id, { priority: 1, conditions, value: "r" });
        expect([rule.status, rule.json.message]).toEqual([400, message]);
        const segment = await way().createSegment({ key: newKey(), conditions });
        expect([segment.status, segment.json.message]).toEqual([400, message]);
      }
      const { json: rule } = await way().createRule(id, {
        priority: 1,
        conditions: when("x", "equals", ""),
        value: "r",
      });
      expect((await way().updateRule(id, rule.id, { conditions: empty })).status).toBe(400);
    },
  );

  test("groups nested more than 10 levels deep are refused, and the error names the limit", async () => {
    let conditions: object = everyone;
    for (let level = 0; level < 10; level++) conditions = { conditions: [conditions] };
    const { id } = await make();
    const answer = await way().createRule(id, { priority: 1, conditions, value: "r" });
    expect([answer.status, answer.json.details.limit]).toEqual([400, 10]);
  });
});
