/** Checks the fields of an evaluation request, and of its result. */
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

describe.each(WAYS)("guide/flags-http: Evaluation (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const make = async (fields: object = {}) =>
    (
      await way().createFlag({
        key: newKey(),
        name: "N",
        type: "string",
        enabled: true,
        defaultValue: "v",
        ...fields,
      })
    ).json;

  test("flagKey is required and must be a string", async () => {
    for (const body of [{}, { flagKey: 3 }, [], 5, null, undefined]) {
      const answer = await way().evaluate(body);
      expect([answer.status, answer.json.code], JSON.stringify(body)).toEqual([400, "VALIDATION_ERROR"]);
    }
  });

  test("flagKeys is required: a list of at most 100 keys, which may be empty", async () => {
    for (const flagKeys of [undefined, "a", [1]]) {
      expect((await way().batch({ flagKeys })).json.code).toBe("VALIDATION_ERROR");
    }
    const keys = Array.from({ length: 101 }, (_, at) => `k${at}`);
    const tooMany = await way().batch({ flagKeys: keys });
    expect([tooMany.status, tooMany.json.details]).toEqual([400, { limit: 100 }]);
    expect(Object.keys((await way().batch({ flagKeys: keys.slice(1) })).json.flags)).toHaveLength(100);
    expect((await way().batch({ flagKeys: [] })).json.flags).toEqual({});
  });

  test.each(["x", false, 0, "", { a: [1] }])(
    "the default %j is returned for an unknown flag only",
    async (given) => {
      const flag = await make();
      expect((await way().evaluate({ flagKey: newKey("no"), default: given })).json).toMatchObject({
        value: given,
        reason: "not_found",
      });
      expect((await way().evaluate({ flagKey: flag.key, default: given })).json.value).toBe("v");
      expect((await way().evaluate({ flagKey: newKey("no") })).json.value).toBeNull();
    },
  );

  test("defaults are returned for unknown flags, and null for an unknown flag without a default", async () => {
    const flag = await make();
    const { flags } = (
      await way().batch({
        flagKeys: [flag.key, "no-a", "no-b"],
        defaults: { "no-a": 0, [flag.key]: "other" },
      })
    ).json;
    expect(flags[flag.key].value).toBe("v");
    expect([flags["no-a"].value, flags["no-b"].value]).toEqual([0, null]);
    expect((await way().batch({ flagKeys: [], defaults: [] })).status).toBe(400);
  });

  test("names of prototype members, such as __proto__, are ordinary keys in flags and in defaults", async () => {
    const names = ["__proto__", "constructor", "toString"];
    const answer = await way().batch({ flagKeys: names, defaults: JSON.parse('{"__proto__":7}') });
    expect(Object.keys(answer.json.flags)).toEqual(names);
    expect(Object.getOwnPropertyDescriptor(answer.json.flags, "__proto__")?.value.value).toBe(7);
    for (const name of ["constructor", "toString"]) {
      expect(answer.json.flags[name]).toMatchObject({ value: null, reason: "not_found" });
    }
  });

  test("include and prefix narrow a bootstrap, and a flag must match both", async () => {
    const prefix = newKey("boot");
    const keys = ["a", "b", "_"].map((end) => `${prefix}-${end}`);
    for (const key of keys) await make({ key });
    const seen = async (body: object) => Object.keys((await way().bootstrap(body)).json.flags).sort();
    expect(await seen({ prefix })).toEqual(keys.toSorted());
    expect(await seen({ include: [keys[0], "other"] })).toEqual([keys[0]]);
    expect(await seen({ include: [] })).toEqual([]);
    expect(await seen({ include: [keys[0], keys[1]], prefix: keys[0] })).toEqual([keys[0]]);
    expect(await seen({ include: [keys[0]], prefix: "zzz" })).toEqual([]);
    expect((await way().bootstrap({ include: "a" })).status).toBe(400);
  });

  test("a bootstrap returns the enabled flags, and includeDisabled adds the disabled ones", async () => {
    const prefix = newKey("off");
    const [on, off] = [
      await make({ key: `${prefix}-on` }),
      await make({ key: `${prefix}-off`, enabled: false }),
    ];
    await make({ key: `${prefix}-ring`, environments: { beta: { enabled: false } } });
    expect(Object.keys((await way().bootstrap({ prefix, environment: "beta" })).json.flags)).toEqual([
      on.key,
    ]);
    const { flags } = (await way().bootstrap({ prefix, includeDisabled: true })).json;
    expect(flags[off.key]).toMatchObject({ value: "v", reason: "disabled" });
  });

  test("a bootstrap needs no body", async () => {
    expect((await way().bootstrap(undefined)).status).toBe(200);
  });

  test("rules are evaluated for the context of the request", async () => {
    const flag = await make();
    await way().createRule(flag.id, { priority: 1, conditions: when("plan", "equals", "pro"), value: "r" });
    const context = { userId: "u", organizationId: "o", attributes: { plan: "pro" } };
    expect((await way().evaluate({ flagKey: flag.key, context })).json.value).toBe("r");
    expect((await way().batch({ flagKeys: [flag.key], context })).json.flags[flag.key].value).toBe("r");
    expect((await way().bootstrap({ include: [flag.key], context })).json.flags[flag.key].value).toBe("r");
  });

  test("select chooses the fields of the result", async () => {
    const flag = await make({ variants: [{ key: "a", weight: 100, value: "A" }] });
    const single = async (select?: unknown) =>
      Object.keys((await way().evaluate({ flagKey: flag.key, select })).json).sort();
    const full = ["evaluatedAt", "metadata", "reason", "value", "variant"];
    expect(await single()).toEqual(full);
    expect(await single("full")).toEqual(full);
    expect(await single("value")).toEqual(["evaluatedAt", "value"]);
    expect(await single(["reason", "variant"])).toEqual(["evaluatedAt", "reason", "variant"]);
    expect(await single([])).toEqual(["evaluatedAt"]);
    for (const many of [
      async (select?: unknown) => (await way().batch({ flagKeys: [flag.key], select })).json.flags[flag.key],
      async (select?: unknown) =>
        (await way().bootstrap({ include: [flag.key], select })).json.flags[flag.key],
    ]) {
      expect(Object.keys(await many()).sort()).toEqual(["metadata", "reason", "value", "variant"]);
      expect(await many("value")).toBe("A");
      expect(await many(["variant"])).toEqual({ variant: "a" });
    }
    for (const select of ["all", ["secret"], 3, Array(5).fill("value")]) {
      expect((await way().evaluate({ flagKey: flag.key, select })).json.code).toBe("VALIDATION_ERROR");
    }
  });

  test("environment selects a flag's settings and is an attribute for rules; the header takes precedence", async () => {
    const flag = await make({ environments: { staging: { defaultValue: "stg" }, prod: { enabled: false } } });
    await way().createRule(flag.id, {
      priority: 1,
      conditions: when("environment", "equals", "canary"),
      value: "r",
    });
    const request = { flagKey: flag.key, environment: "staging" };
    const header = { "x-deployment-ring": "prod" };
    expect((await way().evaluate(request)).json.value).toBe("stg");
    expect((await way().evaluate(request, header)).json.reason).toBe("disabled");
    expect((await way().evaluate({ ...request, environment: "canary" })).json.value).toBe("r");
    expect((await way().evaluate({ ...request, environment: "else" })).json.value).toBe("v");
    const many = { environment: "prod" };
    const staging = { "x-deployment-ring": "staging" };
    expect((await way().batch({ ...many, flagKeys: [flag.key] }, staging)).json.flags[flag.key].value).toBe(
      "stg",
    );
    expect(
      (await way().bootstrap({ ...many, include: [flag.key] }, staging)).json.flags[flag.key].value,
    ).toBe("stg");
    expect((await way().evaluate({ ...request, environment: 5 })).status).toBe(400);
    expect((await way().evaluate({ ...request, environment: "e".repeat(256) })).status).toBe(400);
  });

  test.each(["track", "debug", "contextInResponse"])("%s must be a boolean", async (field) => {
    expect((await way().evaluate({ flagKey: "k", [field]: "yes" })).json.code).toBe("VALIDATION_ERROR");
    expect((await way().evaluate({ flagKey: "k", [field]: true })).status).toBe(200);
    expect((await way().batch({ flagKeys: ["k"], [field]: true })).status).toBe(200);
    expect((await way().bootstrap({ [field]: true })).status).toBe(200);
  });

  test("the context is returned on request for one flag, by default for a batch, and always for a bootstrap", async () => {
    const flag = await make();
    const context = { userId: "u", attributes: { plan: "x" } };
    expect((await way().evaluate({ flagKey: flag.key, context })).json).not.toHaveProperty("context");
    for (const { json } of [
      await way().evaluate({ flagKey: flag.key, context, contextInResponse: true }),
      await way().evaluate({ flagKey: flag.key, context, contextInResponse: true, select: "value" }),
      await way().batch({ flagKeys: [flag.key], context }),
      await way().bootstrap({ context }),
    ]) {
      expect(json.context).toEqual(context);
    }
    const without = await way().batch({ flagKeys: [flag.key], context, contextInResponse: false });
    expect(without.json).not.toHaveProperty("context");
  });

  test("unknown keys are ignored", async () => {
    const answer = await way().evaluate({
      flagKey: "k",
      colour: "red",
      context: { userId: "u", shoe: 43 },
      contextInResponse: true,
    });
    expect([answer.status, answer.json.context]).toEqual([200, { userId: "u" }]);
  });
});

describe.each(WAYS)("guide/flags-quick-start: Evaluation result (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make, evaluated } = flagHelpers(way);

  test("reason is one of six values and tells why the flag has its value", async () => {
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

  test("a result without a variant has no such field, metadata has the revision, and evaluatedAt is ISO 8601", async () => {
    const flag = await make();
    const result = await evaluated(flag.key);
    expect(Object.keys(result).sort()).toEqual(["evaluatedAt", "metadata", "reason", "value"]);
    expect(result.metadata).toEqual({ revision: expect.any(Number) });
    expect(result.evaluatedAt).toMatch(ISO);
  });

  test("values are returned unchanged: dates, numeric strings, empty and nested values", async () => {
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

describe.each(WAYS)("guide/flags-http: Headers (%s)", (_name, by) => {
  const way = () => by({ host, admin });

  test("every response names the revision it was evaluated from, and a write increments it", async () => {
    const { json: flag } = await way().createFlag({ key: newKey(), name: "N", type: "boolean" });
    const revisions = async () => {
      const answers = [
        await way().evaluate({ flagKey: flag.key }),
        await way().batch({ flagKeys: [flag.key] }),
        await way().bootstrap({}),
      ];
      expect(answers[0]?.json.metadata.revision).toBe(
        Number(answers[0]?.headers.get("x-feature-flags-revision")),
      );
      return answers.map(({ headers }) => Number(headers.get("x-feature-flags-revision")));
    };
    const [before, ...rest] = await revisions();
    expect(rest).toEqual([before, before]);
    await way().updateFlag(flag.id, { name: "M" });
    expect(await revisions()).toEqual(Array(3).fill(Number(before) + 1));
  });

  test("a batch and a bootstrap have one evaluatedAt, at the top level", async () => {
    const { json: flag } = await way().createFlag({
      key: newKey(),
      name: "N",
      type: "boolean",
      enabled: true,
    });
    for (const { json } of [
      await way().batch({ flagKeys: [flag.key] }),
      await way().bootstrap({ include: [flag.key] }),
    ]) {
      expect(json.evaluatedAt).toMatch(/Z$/);
      expect(json.flags[flag.key]).not.toHaveProperty("evaluatedAt");
    }
  });
});
