/** Contract: "Endpoints": evaluation request fields, and the public endpoints. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { flag, memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { everyone, WAYS, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("Evaluation request fields, %s", (_name, by) => {
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

  test("flagKey is required, and text", async () => {
    for (const body of [{}, { flagKey: 3 }, [], 5, null, undefined]) {
      const answer = await way().evaluate(body);
      expect([answer.status, answer.json.code], JSON.stringify(body)).toEqual([400, "VALIDATION_ERROR"]);
    }
  });

  test("flagKeys is required: a list of at most 100, and may be empty", async () => {
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
    "default %j answers for an unknown flag, and only for that",
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

  test("defaults answer for unknown flags, null where there is none", async () => {
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

  test("__proto__ and the like are ordinary keys, in flags and in defaults", async () => {
    const names = ["__proto__", "constructor", "toString"];
    const answer = await way().batch({ flagKeys: names, defaults: JSON.parse('{"__proto__":7}') });
    expect(Object.keys(answer.json.flags)).toEqual(names);
    expect(Object.getOwnPropertyDescriptor(answer.json.flags, "__proto__")?.value.value).toBe(7);
    for (const name of ["constructor", "toString"]) {
      expect(answer.json.flags[name]).toMatchObject({ value: null, reason: "not_found" });
    }
  });

  test("include and prefix narrow a bootstrap, and together intersect", async () => {
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

  test("a bootstrap has the enabled flags; includeDisabled adds the others", async () => {
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

  test("context is who the flag is evaluated for", async () => {
    const flag = await make();
    await way().createRule(flag.id, { priority: 1, conditions: when("plan", "equals", "pro"), value: "r" });
    const context = { userId: "u", organizationId: "o", attributes: { plan: "pro" } };
    expect((await way().evaluate({ flagKey: flag.key, context })).json.value).toBe("r");
    expect((await way().batch({ flagKeys: [flag.key], context })).json.flags[flag.key].value).toBe("r");
    expect((await way().bootstrap({ include: [flag.key], context })).json.flags[flag.key].value).toBe("r");
  });

  test("select shapes the result", async () => {
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

  test("environment selects a flag's settings and is an attribute; the header goes before it", async () => {
    const flag = await make({ environments: { staging: { defaultValue: "stg" }, prod: { enabled: false } } });
    await way().createRule(flag.id, {
      priority: 1,
      conditions: when("environment", "equals", "canary"),
      value: "r",
    });
    const asked = { flagKey: flag.key, environment: "staging" };
    const header = { "x-deployment-ring": "prod" };
    expect((await way().evaluate(asked)).json.value).toBe("stg");
    expect((await way().evaluate(asked, header)).json.reason).toBe("disabled");
    expect((await way().evaluate({ ...asked, environment: "canary" })).json.value).toBe("r");
    expect((await way().evaluate({ ...asked, environment: "else" })).json.value).toBe("v");
    const many = { environment: "prod" };
    const staging = { "x-deployment-ring": "staging" };
    expect((await way().batch({ ...many, flagKeys: [flag.key] }, staging)).json.flags[flag.key].value).toBe(
      "stg",
    );
    expect(
      (await way().bootstrap({ ...many, include: [flag.key] }, staging)).json.flags[flag.key].value,
    ).toBe("stg");
    expect((await way().evaluate({ ...asked, environment: 5 })).status).toBe(400);
    expect((await way().evaluate({ ...asked, environment: "e".repeat(256) })).status).toBe(400);
  });

  test.each(["track", "debug", "contextInResponse"])("%s is a boolean", async (field) => {
    expect((await way().evaluate({ flagKey: "k", [field]: "yes" })).json.code).toBe("VALIDATION_ERROR");
    expect((await way().evaluate({ flagKey: "k", [field]: true })).status).toBe(200);
    expect((await way().batch({ flagKeys: ["k"], [field]: true })).status).toBe(200);
    expect((await way().bootstrap({ [field]: true })).status).toBe(200);
  });

  test("contextInResponse: false for single, true for batch, always for bootstrap", async () => {
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

describe.each(WAYS)("Public endpoints, %s", (_name, by) => {
  const way = () => by({ host, admin });

  test("every answer says the revision it was made from, and a write moves it", async () => {
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

  test("batch and bootstrap have one evaluatedAt, at the top", async () => {
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

describe("debug", () => {
  test("adds a trace for server calls and callers with read, and for nobody else", async () => {
    const user = await host.person("debugger");
    const { id, key } = await host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "boolean", enabled: true },
    });
    const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "canary" }] };
    await host.auth.api.createFeatureFlagRule({ body: { flagId: id, priority: 1, conditions, value: true } });
    const body = { flagKey: key, debug: true };
    for (const as of [undefined, user]) {
      const answer = await host.evaluate(body, as);
      expect([answer.status, answer.json.metadata.trace]).toEqual([200, undefined]);
      expect(answer.text).not.toContain("canary");
    }
    const readable = await host.key({ userId: admin.id }, ["read"]);
    const unreadable = await host.key({ userId: admin.id }, ["create"]);
    expect((await host.evaluate(body, admin)).json.metadata.trace[0].step).toBe("enabled");
    expect((await host.evaluate(body, readable)).json.metadata.trace[0].step).toBe("enabled");
    expect((await host.evaluate(body, unreadable)).json.metadata).not.toHaveProperty("trace");
    expect(
      (await host.auth.api.evaluateFeatureFlag({ body })).metadata.trace?.map(({ step }) => step),
    ).toEqual(["enabled", "override", "rule", "default"]);
    const many = await host.auth.api.evaluateFeatureFlags({ body: { flagKeys: [key], debug: true } });
    expect(many.flags[key]?.metadata.trace).toHaveLength(4);
  });
});

describe("track", () => {
  test("records one exposure per evaluated flag and user, and none where it is not asked for", async () => {
    const { auth, evaluate, request } = await memoryHost();
    const { id, key } = await auth.api.createFeatureFlag({
      body: flag({ enabled: true, defaultValue: "v" }),
    });
    await evaluate({ flagKey: key, context: { userId: "not-tracked" } });
    for (const userId of ["u1", "u2", "u1"]) {
      await evaluate({ flagKey: key, context: { userId }, track: true });
      await request("/feature-flags/bootstrap", { context: { userId }, track: true });
    }
    await expect
      .poll(async () => (await auth.api.getFeatureFlagStats({ params: { id } })).uniqueUsers)
      .toBe(2);
  });
});

describe("option environments", () => {
  test("default is used where none is named; a ring that is not claimable is ignored, and metadata says so", async () => {
    const options = { environments: { default: "live", claimable: ["beta"] } };
    const { auth, evaluate, key, person } = await memoryHost({ flags: options });
    const environments = {
      live: { defaultValue: "L" },
      beta: { defaultValue: "B" },
      internal: { defaultValue: "I" },
    };
    await auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "string", enabled: true, defaultValue: "v", environments },
    });
    const user = await person("user");
    for (const as of [undefined, user]) {
      expect((await evaluate({ flagKey: "k" }, as)).json.value).toBe("L");
      const beta = await evaluate({ flagKey: "k", environment: "beta" }, as);
      expect([beta.json.value, beta.json.metadata.environmentIgnored]).toEqual(["B", undefined]);
      const refused = await evaluate({ flagKey: "k", environment: "internal", contextInResponse: true }, as);
      expect([refused.json.value, refused.json.metadata.environmentIgnored]).toEqual(["L", true]);
      expect(refused.json.context.environment).toBe("live");
    }
    const trusted = await key({ userId: user.id }, []);
    expect((await evaluate({ flagKey: "k", environment: "internal" }, trusted)).json.value).toBe("I");
    const own = await auth.api.evaluateFeatureFlag({ body: { flagKey: "k", environment: "internal" } });
    expect(own.value).toBe("I");
  });
});

describe("option context.collect", () => {
  const headers = {
    "user-agent":
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Version/17.0 Mobile/15E148 Safari/604.1",
    "cf-ipcountry": "DE",
    "x-vercel-ip-city": "M%C3%BCnchen",
  };
  const body = { flagKey: "k", contextInResponse: true };

  test("on: device and geo come from request headers, unless the caller gives them", async () => {
    const { request } = await memoryHost({ flags: { context: { collect: true } } });
    const collected = await request("/feature-flags/evaluate", body, headers);
    expect(collected.json.context).toEqual({
      device: { type: "mobile", os: "iOS", browser: "Safari" },
      geo: { country: "DE", city: "München" },
    });
    const given = await request(
      "/feature-flags/evaluate",
      { ...body, context: { geo: { country: "FR" } } },
      headers,
    );
    expect(given.json.context.geo).toEqual({ country: "FR" });
  });

  test("off, which is the default: they do not", async () => {
    const answer = await host.request("/feature-flags/evaluate", body, headers);
    expect(answer.json.context).toEqual({});
  });
});

describe("visibility", () => {
  test("server flags exist only for server calls and keys", async () => {
    const { auth, evaluate, request, person, key } = await memoryHost();
    await auth.api.createFeatureFlag({
      body: {
        key: "k",
        name: "N",
        type: "string",
        enabled: true,
        defaultValue: "canary",
        visibility: "server",
      },
    });
    const owner = await person("admin", "admin");
    for (const as of [undefined, owner]) {
      for (const answer of [
        await evaluate({ flagKey: "k" }, as),
        await request("/feature-flags/evaluate-batch", { flagKeys: ["k"] }, as?.headers),
        await request("/feature-flags/bootstrap", { include: ["k"] }, as?.headers),
        await request("/feature-flags/bootstrap", {}, as?.headers),
      ]) {
        expect([answer.status, answer.text.includes("canary")]).toEqual([200, false]);
      }
    }
    expect((await evaluate({ flagKey: "k" }, await key({ userId: owner.id }, []))).json.value).toBe("canary");
    expect((await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } })).value).toBe("canary");
    expect((await auth.api.bootstrapFeatureFlags({ body: {} })).flags["k"]?.value).toBe("canary");
  });

  test("option defaultVisibility is for flags made without one", async () => {
    const { auth } = await memoryHost({ flags: { defaultVisibility: "server" } });
    const body = { name: "N", type: "boolean" as const };
    expect((await auth.api.createFeatureFlag({ body: { ...body, key: "a" } })).visibility).toBe("server");
    const open = await auth.api.createFeatureFlag({ body: { ...body, key: "b", visibility: "public" } });
    expect(open.visibility).toBe("public");
  });
});

describe("the revision a caller has seen", () => {
  test("is asked for first by a node that is behind", async () => {
    const { auth, evaluate, request, db } = await memoryHost();
    await auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "string", enabled: true, defaultValue: "old" },
    });
    expect((await evaluate({ flagKey: "k" })).json.value).toBe("old");
    // As another node would: this one is not told.
    db.exec(`update featureFlag set defaultValue = '"new"'; update featureFlagRevision set revision = 2`);
    const headers = { "x-feature-flags-revision": "2" };
    const answer = await request("/feature-flags/evaluate", { flagKey: "k" }, headers);
    expect([answer.json.value, answer.headers.get("x-feature-flags-revision")]).toEqual(["new", "2"]);
    for (const seen of ["garbage", "-1", "999999999999999999999"]) {
      const ignored = await request(
        "/feature-flags/evaluate",
        { flagKey: "k" },
        { "x-feature-flags-revision": seen },
      );
      expect(ignored.status).toBe(200);
    }
  });
});

describe("rules everyone matches", () => {
  test("a bootstrap over HTTP evaluates them as the single evaluation does", async () => {
    const { id, key } = await host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "number", enabled: true },
    });
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: id, priority: 1, conditions: everyone, value: 9 },
    });
    const { json } = await host.request("/feature-flags/bootstrap", { include: [key] });
    const single = await host.evaluate({ flagKey: key });
    expect({ ...json.flags[key], evaluatedAt: single.json.evaluatedAt }).toEqual(single.json);
  });
});
