/** Checks evaluation options that depend on the caller or on the plugin's configuration. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { flag, memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { everyone } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe("guide/flags-explain: How it works", () => {
  test("debug adds a trace for server calls and for callers with the action read, and for no other caller", async () => {
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

describe("guide/flags-exposures: How it works", () => {
  test("track records one exposure per evaluated flag and user, and without track no exposure is recorded", async () => {
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

describe("guide/flags-environments: How it works", () => {
  test("the default environment applies if the request names none; one that is not claimable is ignored, and metadata reports it", async () => {
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
    const trustedCall = await auth.api.evaluateFeatureFlag({
      body: { flagKey: "k", environment: "internal" },
    });
    expect(trustedCall.value).toBe("I");
  });
});

describe("guide/flags-targeting: Device and location", () => {
  const headers = {
    "user-agent":
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Version/17.0 Mobile/15E148 Safari/604.1",
    "cf-ipcountry": "DE",
    "x-vercel-ip-city": "M%C3%BCnchen",
  };
  const body = { flagKey: "k", contextInResponse: true };

  test("with context.collect on, device and geo come from request headers unless the caller sends them", async () => {
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

  test("context.collect is off by default, and request headers are ignored", async () => {
    const answer = await host.request("/feature-flags/evaluate", body, headers);
    expect(answer.json.context).toEqual({});
  });
});

describe("guide/flags-permissions: Server-only flags", () => {
  test("flags with visibility server exist only for server calls and API keys", async () => {
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

  test("defaultVisibility applies to flags created without a visibility", async () => {
    const { auth } = await memoryHost({ flags: { defaultVisibility: "server" } });
    const body = { name: "N", type: "boolean" as const };
    expect((await auth.api.createFeatureFlag({ body: { ...body, key: "a" } })).visibility).toBe("server");
    const open = await auth.api.createFeatureFlag({ body: { ...body, key: "b", visibility: "public" } });
    expect(open.visibility).toBe("public");
  });
});

describe("guide/flags-http: Headers", () => {
  test("a node with an older revision than the caller names reads the database before it evaluates", async () => {
    const { auth, evaluate, request, db } = await memoryHost();
    await auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "string", enabled: true, defaultValue: "old" },
    });
    expect((await evaluate({ flagKey: "k" })).json.value).toBe("old");
    // Another node writes, and this node is not notified.
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

describe("guide/flags-http: Bootstrap", () => {
  test("a rule that matches everyone has the same result in a bootstrap as in a single evaluation", async () => {
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
