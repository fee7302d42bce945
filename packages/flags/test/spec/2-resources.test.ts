/** Contract: "Resources and their fields". */
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

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe.each(WAYS)("Resources and their fields, %s", (_name, by) => {
  const way = () => by({ host, admin });
  const make = async (fields: object = {}) => {
    const answer = await way().createFlag({
      key: newKey(),
      name: "N",
      type: "string",
      enabled: true,
      ...fields,
    });
    expect(answer.status, answer.text).toBe(201);
    return answer.json;
  };
  const refuse = async (fields: object, code = "VALIDATION_ERROR") => {
    const answer = await way().createFlag({ key: newKey(), name: "N", type: "string", ...fields });
    expect([answer.status, answer.json.code], JSON.stringify(fields)).toEqual([400, code]);
    return answer.json;
  };
  const evaluated = async (key: string, context?: object) =>
    (await way().evaluate({ flagKey: key, context })).json;

  describe("FeatureFlag", () => {
    test("id is assigned by the service", async () => {
      expect((await make()).id).toMatch(/^[0-9a-f-]{36}$/);
      await refuse({ id: "mine" });
    });

    test.each(["a", "A-b_9", "__proto__", "constructor", "-", "k".repeat(128)])(
      "key %j is a key",
      async (key) => {
        expect((await make({ key: `${key}` })).key).toBe(key);
        await way().deleteFlag((await way().listFlags({ prefix: key })).json.flags[0].id);
      },
    );

    test.each([undefined, "", "has space", "sl/ash", "dot.ted", "k\n", "ü", "k".repeat(129), 5])(
      "key %j is not: it is required, URL-safe, 1–128 characters",
      (key) => refuse({ key }),
    );

    test("key is unique, on create and on rename", async () => {
      const [one, other] = [await make(), await make()];
      const again = await way().createFlag({ key: one.key, name: "N", type: "string" });
      expect([again.status, again.json.code, again.json.details.field]).toEqual([
        409,
        "VALIDATION_ERROR",
        "key",
      ]);
      expect((await way().updateFlag(other.id, { key: one.key })).status).toBe(409);
    });

    test("key is used with userId in consistent hashing, unless a salt takes its place", async () => {
      const users = Array.from({ length: 40 }, (_, at) => `user-${at}`);
      const cohort = async (key: string) =>
        Promise.all(
          users.map(async (userId) => (await evaluated(key, { userId })).reason === "percentage_rollout"),
        );
      const rollout = { type: "boolean", rolloutPercentage: 50 };
      const [one, other] = [await make(rollout), await make(rollout)];
      expect(await cohort(one.key)).not.toEqual(await cohort(other.key));
      expect(await cohort(one.key)).toEqual(await cohort(one.key));
      const salted = await make({ ...rollout, salt: one.key });
      expect(await cohort(salted.key)).toEqual(await cohort(one.key));
    });

    test.each([undefined, "", 5, "a\u0000", "\ud800"])(
      "name %j is refused: it is required, and text",
      (name) => refuse({ name }),
    );

    test("name and description have no effect on evaluation", async () => {
      const flag = await make({ name: "Shown", description: "Also shown", defaultValue: "v" });
      expect([flag.name, flag.description]).toEqual(["Shown", "Also shown"]);
      const before = await evaluated(flag.key);
      await way().updateFlag(flag.id, { name: "Other", description: null });
      expect((await evaluated(flag.key)).value).toBe(before.value);
    });

    test.each(["boolean", "string", "number", "json"])("type %s is a type", async (type) => {
      expect((await make({ type })).type).toBe(type);
    });

    test("type is required; an unknown one is INVALID_FLAG_TYPE", async () => {
      await refuse({ type: undefined });
      for (const type of ["date", "Boolean", "", 5, null, {}]) await refuse({ type }, "INVALID_FLAG_TYPE");
    });

    test("enabled defaults to false; when false, evaluation returns defaultValue with reason disabled", async () => {
      const flag = await make({ enabled: undefined, defaultValue: "own" });
      expect(flag.enabled).toBe(false);
      expect(await evaluated(flag.key)).toMatchObject({ value: "own", reason: "disabled" });
      await refuse({ enabled: "yes" });
    });

    test.each([
      ["boolean", false],
      ["string", ""],
      ["number", 0],
      ["json", null],
    ])("defaultValue is the fallback; absent it is, for %s, %j", async (type, empty) => {
      const flag = await make({ type });
      expect(flag).not.toHaveProperty("defaultValue");
      expect(await evaluated(flag.key)).toMatchObject({ value: empty, reason: "default" });
    });

    test.each([
      ["boolean", "true"],
      ["boolean", 0],
      ["boolean", null],
      ["string", 1],
      ["number", "1"],
      ["number", true],
    ])("defaultValue must be compatible: %s refuses %j", async (type, defaultValue) => {
      await refuse({ type, defaultValue }, "INVALID_FLAG_TYPE");
      await refuse({ type, environments: { beta: { defaultValue } } }, "INVALID_FLAG_TYPE");
    });

    test.each([-1, 101, 12.5, "10"])(
      "rolloutPercentage %j is refused: an integer 0-100",
      (rolloutPercentage) => refuse({ rolloutPercentage }),
    );

    test("rolloutPercentage is sticky; without userId all anonymous callers fall in one cohort", async () => {
      const flag = await make({ type: "boolean", rolloutPercentage: 50 });
      const anonymous = new Set<string>();
      for (let round = 0; round < 5; round++) {
        anonymous.add((await evaluated(flag.key, { attributes: { round } })).reason);
      }
      expect(anonymous.size).toBe(1);
      const [none, all] = [
        await make({ type: "boolean", rolloutPercentage: 0 }),
        await make({ type: "boolean", rolloutPercentage: 100 }),
      ];
      expect(await evaluated(none.key, { userId: "u" })).toMatchObject({ value: false, reason: "default" });
      expect(await evaluated(all.key, { userId: "u" })).toMatchObject({
        value: true,
        reason: "percentage_rollout",
      });
    });

    test("organizationId is optional, and a label that lists can be filtered by", async () => {
      const label = newKey("org");
      const flag = await make({ organizationId: label });
      expect(flag.organizationId).toBe(label);
      expect((await way().listFlags({ organizationId: label })).json.flags).toEqual([flag]);
      await refuse({ organizationId: 5 });
    });

    test("metadata is free-form and never part of an evaluation", async () => {
      const flag = await make({ metadata: { secret: "canary", "2026-01-02T03:04:05.000Z": [null] } });
      expect(flag.metadata).toEqual({ secret: "canary", "2026-01-02T03:04:05.000Z": [null] });
      expect((await way().evaluate({ flagKey: flag.key, contextInResponse: true })).text).not.toContain(
        "canary",
      );
      await refuse({ metadata: [1] });
    });

    test("createdAt and updatedAt are ISO strings over HTTP", async () => {
      const { id, createdAt, updatedAt } = await make();
      expect([createdAt, updatedAt]).toEqual([expect.stringMatching(ISO), expect.stringMatching(ISO)]);
      const changed = (await way().updateFlag(id, { name: "M" })).json;
      expect(changed.createdAt).toBe(createdAt);
      expect(changed.updatedAt >= updatedAt).toBe(true);
    });

    test("environments, bucketBy and visibility are fields too, and unknown ones are refused", async () => {
      const fields = {
        environments: { beta: { enabled: false }, __proto__x: { rolloutPercentage: 5 } },
        bucketBy: "attributes.account.id",
        visibility: "server",
      };
      expect(await make(fields)).toMatchObject(fields);
      await refuse({ environments: { beta: { colour: "red" } } });
      await refuse({ environments: { "": {} } });
      await refuse({ environments: [] });
      for (const bucketBy of ["email", "attributes.", "", 5]) await refuse({ bucketBy });
      await refuse({ visibility: "secret" });
      await refuse({ salt: "" });
      await refuse({ colour: "red" });
    });
  });

  describe("Variant", () => {
    test("key, weight, value and metadata come back, and the metadata with the evaluation", async () => {
      const variants = [{ key: "a b", weight: 100, value: "A", metadata: { colour: "red" } }];
      const flag = await make({ variants });
      expect(flag.variants).toEqual(variants);
      expect(await evaluated(flag.key)).toMatchObject({
        value: "A",
        variant: "a b",
        metadata: { variant: { colour: "red" } },
      });
    });

    test("weights sum to 100, within 0.001", async () => {
      const thirds = [33.333, 33.333, 33.334].map((weight, at) => ({ key: `v${at}`, weight, value: "x" }));
      await make({ variants: thirds });
      await make({ variants: thirds.map((variant) => ({ ...variant, weight: 33.333 })) });
      for (const weight of [99, 101, 99.9]) await refuse({ variants: [{ key: "a", weight, value: "x" }] });
      await refuse({ variants: [] });
      await refuse({
        variants: [
          { key: "a", weight: -1, value: "x" },
          { key: "b", weight: 101, value: "x" },
        ],
      });
    });

    test("keys are unique, values fit the type, nothing else is there", async () => {
      await refuse({
        variants: [
          { key: "a", weight: 50, value: "x" },
          { key: "a", weight: 50, value: "y" },
        ],
      });
      await refuse({ variants: [{ key: "a", weight: 100, value: 5 }] }, "INVALID_FLAG_TYPE");
      await refuse({ variants: [{ key: "", weight: 100, value: "x" }] });
      await refuse({ variants: [{ key: "a", weight: 100 }] });
      await refuse({ variants: [{ key: "a", weight: 100, value: "x", colour: "red" }] });
    });
  });

  describe("FlagRule", () => {
    const refuseRule = async (rule: Record<string, unknown>, code = "VALIDATION_ERROR") => {
      const { id } = await make({ variants: [{ key: "v", weight: 100, value: "x" }] });
      const answer = await way().createRule(id, { priority: 1, conditions: everyone, value: "x", ...rule });
      expect([answer.status, answer.json.code], JSON.stringify(rule)).toEqual([400, code]);
    };

    test("every field comes back", async () => {
      const flag = await make({ variants: [{ key: "v", weight: 100, value: "x" }] });
      const fields = {
        priority: 2.5,
        name: "R",
        conditions: when("plan", "in", ["a"]),
        value: "r",
        variant: "v",
        percentage: 12.5,
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

    test("priority and conditions are required", async () => {
      await refuseRule({ priority: undefined });
      await refuseRule({ priority: "1" });
      await refuseRule({ conditions: undefined });
      await refuseRule({ conditions: [] });
    });

    test("rules are tried by ascending priority, then in the order they were made", async () => {
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
      expect(rules.map((rule: { value: string }) => rule.value)).toEqual([
        "least",
        "first",
        "second",
        "five",
      ]);
      expect((await evaluated(flag.key)).value).toBe("first");
      expect((await evaluated(flag.key, { attributes: { plan: "pro" } })).value).toBe("least");
    });

    test("value must fit; a rule needs a value or a variant; the variant must be one of the flag's", async () => {
      await refuseRule({ value: 5 }, "INVALID_FLAG_TYPE");
      await refuseRule({ value: undefined });
      await refuseRule({ variant: "none" });
    });

    test("a variant gives its key, and its value when the rule has none", async () => {
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

    test("percentage lets only that share match; a disabled rule is skipped", async () => {
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

  describe("RuleConditions and SimpleCondition", () => {
    const matches = async (conditions: object, attributes: object) => {
      const flag = await make();
      const made = await way().createRule(flag.id, { priority: 1, conditions, value: "r" });
      expect(made.status, made.text).toBe(201);
      return (await evaluated(flag.key, { attributes })).reason === "rule_match";
    };
    const a = { attribute: "a", operator: "equals", value: 1 };
    const b = { attribute: "b", operator: "equals", value: 1 };

    test("operator is AND unless OR; groups nest; not negates; no conditions match everyone", async () => {
      expect(await matches({ conditions: [a, b] }, { a: 1 })).toBe(false);
      expect(await matches({ operator: "AND", conditions: [a, b] }, { a: 1, b: 1 })).toBe(true);
      expect(await matches({ operator: "OR", conditions: [a, b] }, { a: 1 })).toBe(true);
      expect(await matches({ conditions: [a, { operator: "OR", conditions: [b, a] }] }, { a: 1 })).toBe(true);
      expect(await matches({ conditions: [a], not: { conditions: [b] } }, { a: 1 })).toBe(true);
      expect(await matches({ conditions: [a], not: { conditions: [b] } }, { a: 1, b: 1 })).toBe(false);
      expect(await matches(everyone, {})).toBe(true);
    });

    test("attribute is a dotted path", async () => {
      expect(
        await matches(when("attributes.account.plan", "equals", "pro"), { account: { plan: "pro" } }),
      ).toBe(true);
      expect(await matches(when("account.plan", "equals", "pro"), { account: { plan: "pro" } })).toBe(true);
      expect(await matches(when("account.plan", "equals", "pro"), { "account.plan": "pro" })).toBe(false);
    });

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
    ])("ConditionOperator %s %j holds for %j and not for %j", async (operator, value, yes, no) => {
      expect(await matches(when("x", operator, value), { x: yes })).toBe(true);
      expect(await matches(when("x", operator, value), { x: no })).toBe(false);
    });

    test.each<[string, object]>([
      ["an unknown operator", when("x", "like", 1)],
      ["a value that is no list for in", when("x", "in", "a")],
      ["a pattern that is not text", when("x", "regex", 5)],
      ["a pattern that is none", when("x", "regex", "(")],
      ["a pattern over 256 characters", when("x", "regex", "a".repeat(257))],
      ["an object that is no condition", { conditions: [{}] }],
      ["a negation that is no group", { conditions: [a], not: a }],
      ["a group with another operator", { operator: "XOR", conditions: [] }],
      ["a group without conditions", { operator: "AND" }],
      ["more than 200 nodes", { conditions: Array(201).fill(a) }],
      ["a list over 1,000", when("x", "in", Array(1001).fill(1))],
    ])("%s is refused at write", async (_name, conditions) => {
      const { id } = await make();
      const answer = await way().createRule(id, { priority: 1, conditions, value: "r" });
      expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
    });

    test("a tree deeper than 10 is refused with the limit", async () => {
      let conditions: object = everyone;
      for (let level = 0; level < 10; level++) conditions = { conditions: [conditions] };
      const { id } = await make();
      const answer = await way().createRule(id, { priority: 1, conditions, value: "r" });
      expect([answer.status, answer.json.details.limit]).toEqual([400, 10]);
    });
  });

  describe("FlagOverride", () => {
    const later = () => new Date(Date.now() + 3_600_000).toISOString();

    test("every field comes back, enabled and variant too", async () => {
      const flag = await make({ variants: [{ key: "v", weight: 100, value: "x" }] });
      const fields = {
        flagId: flag.id,
        userId: "u",
        value: "o",
        reason: "why",
        variant: "v",
        expiresAt: later(),
      };
      const { status, json } = await way().createOverride(fields);
      expect(status).toBe(201);
      expect(json).toMatchObject({ ...fields, enabled: true, createdAt: expect.stringMatching(ISO) });
      expect(await evaluated(flag.key, { userId: "u" })).toMatchObject({
        value: "o",
        variant: "v",
        reason: "override",
      });
    });

    test("a disabled one is as if absent; an expired one too, and can be replaced", async () => {
      const flag = await make();
      await way().createOverride({ flagId: flag.id, userId: "off", value: "o", enabled: false });
      expect((await evaluated(flag.key, { userId: "off" })).reason).toBe("default");
      const soon = new Date(Date.now() + 2_000).toISOString();
      await way().createOverride({ flagId: flag.id, userId: "u", value: "o", expiresAt: soon });
      expect((await evaluated(flag.key, { userId: "u" })).reason).toBe("override");
      await expect
        .poll(async () => (await evaluated(flag.key, { userId: "u" })).reason, { timeout: 10_000 })
        .toBe("default");
      expect((await way().createOverride({ flagId: flag.id, userId: "u", value: "p" })).status).toBe(201);
      expect((await evaluated(flag.key, { userId: "u" })).value).toBe("p");
    });

    test.each([
      [{ userId: undefined }],
      [{ userId: "" }],
      [{ value: undefined }],
      [{ expiresAt: "tomorrow" }],
      [{ expiresAt: 5 }],
      [{ expiresAt: "2020-01-01T00:00:00Z" }],
      [{ variant: "none" }],
      [{ enabled: "yes" }],
      [{ colour: "red" }],
    ])("%j is refused", async (fields) => {
      const { id } = await make();
      const answer = await way().createOverride({ flagId: id, userId: "u", value: "o", ...fields });
      expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
    });

    test("value must fit; a second one for the same flag and user is 409; an unknown flag is 404", async () => {
      const { id } = await make();
      const misfit = await way().createOverride({ flagId: id, userId: "u", value: 5 });
      expect([misfit.status, misfit.json.code]).toEqual([400, "INVALID_FLAG_TYPE"]);
      await way().createOverride({ flagId: id, userId: "u", value: "o" });
      const second = await way().createOverride({ flagId: id, userId: "u", value: "p" });
      expect([second.status, second.json.code]).toEqual([409, "VALIDATION_ERROR"]);
      const unknown = await way().createOverride({ flagId: "nope", userId: "u", value: "o" });
      expect([unknown.status, unknown.json.code]).toEqual([404, "FLAG_NOT_FOUND"]);
    });
  });

  describe("EvaluationContext", () => {
    test.each([
      ["userId", { userId: "x" }],
      ["email", { email: "x" }],
      ["role", { role: "x" }],
      ["organizationId", { organizationId: "x" }],
      ["anonymousId", { anonymousId: "x" }],
      ["attributes.any", { attributes: { any: "x" } }],
      ["device.os", { device: { os: "x" } }],
      ["geo.country", { geo: { country: "x" } }],
    ])("%s can be targeted", async (attribute, context) => {
      const flag = await make();
      await way().createRule(flag.id, {
        priority: 1,
        conditions: when(attribute, "equals", "x"),
        value: "r",
      });
      expect((await evaluated(flag.key, context)).reason).toBe("rule_match");
      expect((await evaluated(flag.key, {})).reason).toBe("default");
    });

    test.each([
      ["x"],
      [{ userId: 5 }],
      [{ userId: null }],
      [{ attributes: [] }],
      [{ device: { type: "toaster" } }],
      [{ geo: "DE" }],
    ])("%j is not a context", async (context) => {
      const answer = await way().evaluate({ flagKey: "k", context });
      expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
    });
  });

  describe("EvaluationResult", () => {
    test("reason is one of the six, and says why", async () => {
      const flag = await make({ type: "boolean", rolloutPercentage: 100 });
      const reason = async (userId: string) => (await evaluated(flag.key, { userId })).reason;
      expect((await evaluated(newKey("none"))).reason).toBe("not_found");
      expect(await reason("u")).toBe("percentage_rollout");
      await way().updateFlag(flag.id, { rolloutPercentage: null });
      expect(await reason("u")).toBe("default");
      await way().createRule(flag.id, { priority: 1, conditions: everyone, value: true });
      expect(await reason("u")).toBe("rule_match");
      await way().createOverride({ flagId: flag.id, userId: "u", value: false });
      expect(await reason("u")).toBe("override");
      await way().updateFlag(flag.id, { enabled: false });
      expect(await reason("u")).toBe("disabled");
    });

    test("variant is absent, not null, without one; metadata has the revision; evaluatedAt is ISO", async () => {
      const flag = await make();
      const result = await evaluated(flag.key);
      expect(Object.keys(result).sort()).toEqual(["evaluatedAt", "metadata", "reason", "value"]);
      expect(result.metadata).toEqual({ revision: expect.any(Number) });
      expect(result.evaluatedAt).toMatch(ISO);
    });

    test("values come back as they are: dates, numeric strings, empty and deep ones", async () => {
      const value = {
        at: "2026-01-02T03:04:05.000Z",
        s: "12",
        t: "true",
        a: [],
        o: {},
        n: null,
        d: [{ x: [1.5] }],
      };
      const flag = await make({ type: "json", defaultValue: value });
      expect(flag.defaultValue).toEqual(value);
      expect((await evaluated(flag.key)).value).toEqual(value);
    });
  });

  describe("Page", () => {
    test("nextCursor while there is more, limit as used, hasMore; every entry once though others are deleted", async () => {
      const prefix = newKey("page");
      for (let at = 0; at < 5; at++) await make({ key: `${prefix}-${at}` });
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const { json } = await way().listFlags({ prefix, sort: "key", limit: 2, ...(cursor && { cursor }) });
        expect(json.page.limit).toBe(2);
        expect(json.page.hasMore).toBe("nextCursor" in json.page);
        seen.push(...json.flags.map((flag: { key: string }) => flag.key));
        if (cursor === undefined) await way().deleteFlag(json.flags[0].id);
        cursor = json.page.nextCursor;
      } while (cursor !== undefined);
      expect(seen).toEqual([0, 1, 2, 3, 4].map((at) => `${prefix}-${at}`));
    });

    test.each([
      [undefined, 50],
      [0, 1],
      [-5, 1],
      [7, 7],
      [200, 200],
      [100_000, 200],
    ])("limit %j is used as %d", async (limit, used) => {
      expect((await way().listFlags(limit === undefined ? {} : { limit })).json.page.limit).toBe(used);
    });

    test.each([
      { limit: "abc" },
      { limit: 1.5 },
      { cursor: "garbage" },
      { sort: "secret" },
      { sort: "--key" },
    ])("%j is refused", async (query) => {
      for (const answer of [await way().listFlags(query), await way().listOverrides(query)]) {
        expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
      }
    });
  });

  describe("AuditEntry", () => {
    test("the eight actions, one entry each, with who, what and a chain of hashes", async () => {
      const flag = await make({ enabled: false });
      await way().updateFlag(flag.id, { enabled: true });
      const { json: rule } = await way().createRule(flag.id, {
        priority: 1,
        conditions: everyone,
        value: "r",
      });
      const path = `/feature-flags/admin/flags/${flag.id}/rules/${rule.id}`;
      await host.call("PATCH", path, { as: admin, body: { priority: 2 } });
      await host.call("DELETE", path, { as: admin });
      const { json: override } = await way().createOverride({ flagId: flag.id, userId: "u", value: "o" });
      await host.call("DELETE", `/feature-flags/admin/overrides/${override.id}`, { as: admin });
      await way().deleteFlag(flag.id);
      const { entries } = (await way().listAudit({ flagId: flag.id })).json;
      const oldestFirst = entries.toReversed();
      expect(oldestFirst.map((entry: { action: string }) => entry.action)).toEqual([
        "flag.created",
        "flag.updated",
        "rule.created",
        "rule.updated",
        "rule.deleted",
        "override.created",
        "override.deleted",
        "flag.deleted",
      ]);
      for (const [at, entry] of oldestFirst.entries()) {
        expect(entry).toMatchObject({ flagId: flag.id, flagKey: flag.key, at: expect.stringMatching(ISO) });
        expect(entry.hash).toMatch(/^[0-9a-f]{64}$/);
        if (at > 0) expect(entry.prevHash).toBe(oldestFirst[at - 1].hash);
        if (at > 0) expect(entry.revision).toBe(oldestFirst[at - 1].revision + 1);
      }
      expect([oldestFirst[1].before.enabled, oldestFirst[1].after.enabled]).toEqual([false, true]);
      expect([oldestFirst[0].before, oldestFirst[7].after]).toEqual([null, null]);
      expect(oldestFirst[3].entityId).toBe(rule.id);
    });
  });
});

test("an audit entry names the user, and where the call came from", async () => {
  const key = newKey();
  const { json: flag } = await host.call("POST", "/feature-flags/admin/flags", {
    as: admin,
    body: { key, name: "N", type: "boolean" },
    headers: { "user-agent": "curl/8", "x-request-id": "req-1", "x-forwarded-for": "203.0.113.9" },
  });
  await host.auth.api.updateFeatureFlag({ body: { id: flag.id, name: "M" } });
  const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: flag.id } });
  expect(entries[1]).toMatchObject({
    actor: { type: "user", id: admin.id },
    ip: "203.0.113.9",
    userAgent: "curl/8",
    requestId: "req-1",
  });
  expect(entries[0]?.actor).toEqual({ type: "system", id: "system" });
  expect(entries[0]).not.toHaveProperty("ip");
});

test("through the methods, dates are Date", async () => {
  const flag = await host.auth.api.createFeatureFlag({ body: { key: newKey(), name: "N", type: "boolean" } });
  expect([flag.createdAt, flag.updatedAt]).toEqual([expect.any(Date), expect.any(Date)]);
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const override = await host.auth.api.createFeatureFlagOverride({
    body: { flagId: flag.id, userId: "u", value: true, expiresAt },
  });
  expect(override.expiresAt).toEqual(new Date(expiresAt));
});
