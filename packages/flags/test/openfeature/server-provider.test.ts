/** Checks the server provider through OpenFeature's SDK: values, hooks, events and tracking. */
import { createServerProvider } from "@halyard/flags/openfeature";
import {
  type Client,
  type EvaluationContext,
  type Hook,
  OpenFeature,
  ProviderEvents,
  ProviderStatus,
} from "@openfeature/server-sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Host } from "../host.ts";
import { flag, memoryHost, newKey, suiteHost } from "../memory-host.ts";

let host: Host;
let client: Client;

suiteHost({}, async (started) => {
  host = started;
  const { api } = host.auth;
  const make = (fields: object) => api.createFeatureFlag({ body: flag({ enabled: true, ...fields }) });
  await make({ key: "boolean", type: "boolean", defaultValue: true });
  await make({ key: "string", type: "string", defaultValue: "s" });
  await make({ key: "number", type: "number", defaultValue: 1.5 });
  await make({ key: "object", type: "json", defaultValue: { list: [1, { a: "2026-01-01T00:00:00.000Z" }] } });
  await make({ key: "nothing", type: "json" });
  await make({ key: "off", type: "boolean", enabled: false, defaultValue: true });
  await make({ key: "split", type: "string", variants: [{ key: "only", weight: 100, value: "v" }] });
  await make({ key: "hidden", type: "string", visibility: "server", defaultValue: "server's own" });
  const targeted = await make({ key: "targeted", type: "string", defaultValue: "d" });
  const is = (attribute: string, value: string) => ({ attribute, operator: "equals" as const, value });
  const rules = [
    is("plan", "pro"),
    is("organizationId", "acme"),
    is("attributes.nested.deep", "yes"),
    is("geo.country", "NO"),
  ];
  for (const [at, condition] of [...rules, is("since", "2026-01-01T00:00:00.000Z")].entries()) {
    const body = {
      flagId: targeted.id,
      priority: at,
      conditions: { conditions: [condition] },
      value: `rule ${at}`,
    };
    await api.createFeatureFlagRule({ body });
  }
  await api.createFeatureFlagOverride({ body: { flagId: targeted.id, userId: "ada", value: "ada's" } });
});

beforeAll(async () => {
  await OpenFeature.setProviderAndWait("server", createServerProvider(host.auth, { pollMs: 20 }));
  client = OpenFeature.getClient("server");
});
afterAll(() => OpenFeature.close());

test("records exposures with track, and none without", async () => {
  const { id, key } = await host.auth.api.createFeatureFlag({
    body: flag({ key: newKey(), enabled: true, variants: [{ key: "only", weight: 100, value: "v" }] }),
  });
  const tracking = createServerProvider(host.auth, { pollMs: 0, track: true });
  await OpenFeature.setProviderAndWait("tracking", tracking);
  const targetingKeys = ["o1", "o2", "o1"];
  const tracked = OpenFeature.getClient("tracking");
  for (const targetingKey of targetingKeys) await tracked.getStringValue(key, "x", { targetingKey });
  await client.getStringValue(key, "x", { targetingKey: "not tracked" });
  const { byVariant } = await host.auth.api.getFeatureFlagStats({ params: { id } });
  expect(byVariant).toEqual({ only: { exposures: 2, uniqueUsers: 2, events: {} } });
});

describe("evaluation", () => {
  test("returns values of every type", async () => {
    expect(await client.getBooleanValue("boolean", false)).toBe(true);
    expect(await client.getStringValue("string", "")).toBe("s");
    expect(await client.getNumberValue("number", 0)).toBe(1.5);
    expect(await client.getObjectValue("object", {})).toEqual({
      list: [1, { a: "2026-01-01T00:00:00.000Z" }],
    });
    expect(await client.getObjectValue("nothing", {})).toBeNull();
    expect(await client.getStringValue("hidden", "")).toBe("server's own");
  });

  test("returns the reason, the variant and the revision", async () => {
    expect(await client.getStringDetails("split", "")).toEqual({
      flagKey: "split",
      value: "v",
      variant: "only",
      reason: "SPLIT",
      flagMetadata: { revision: expect.any(Number), stale: false },
    });
    expect(await client.getBooleanDetails("off", false)).toMatchObject({ value: true, reason: "DISABLED" });
    expect(await client.getBooleanDetails("boolean", false)).toMatchObject({ reason: "DEFAULT" });
  });

  test.for<[string, EvaluationContext, string]>([
    ["the targeting key", { targetingKey: "ada" }, "ada's"],
    ["an attribute", { plan: "pro" }, "rule 0"],
    ["a context field", { organizationId: "acme" }, "rule 1"],
    ["a nested attribute", { nested: { deep: "yes" } }, "rule 2"],
    ["a country", { geo: { country: "NO" } }, "rule 3"],
    ["a date", { since: new Date("2026-01-01T00:00:00Z") }, "rule 4"],
    ["an empty context", {}, "d"],
  ])("evaluates for %s", async ([, context, value]) => {
    const details = await client.getStringDetails("targeted", "", context);
    expect(details).toMatchObject({ value, reason: value === "d" ? "DEFAULT" : "TARGETING_MATCH" });
  });

  test("returns the default and an error code on failure, and never throws", async () => {
    expect(await client.getBooleanDetails("unknown", true)).toMatchObject({
      value: true,
      reason: "ERROR",
      errorCode: "FLAG_NOT_FOUND",
    });
    expect(await client.getBooleanDetails("string", true)).toMatchObject({
      value: true,
      errorCode: "TYPE_MISMATCH",
    });
    expect(await client.getObjectDetails("number", {})).toMatchObject({
      value: {},
      errorCode: "TYPE_MISMATCH",
    });
    const context = { email: 5 } as EvaluationContext;
    expect(await client.getStringDetails("string", "d", context)).toMatchObject({
      value: "d",
      errorCode: "INVALID_CONTEXT",
    });
  });

  test("runs the SDK's hooks with the resolution details", async () => {
    const calls: string[] = [];
    const hook: Hook = {
      before: ({ flagKey }) => {
        calls.push(`before ${flagKey}`);
        return { plan: "pro" };
      },
      after: (_context, { value }) => void calls.push(`after ${value}`),
      error: (_context, error) => void calls.push(`error ${error}`),
      finally: (_context, { reason }) => void calls.push(`finally ${reason}`),
    };
    expect(await client.getStringValue("targeted", "", {}, { hooks: [hook] })).toBe("rule 0");
    expect(calls).toEqual(["before targeted", "after rule 0", "finally TARGETING_MATCH"]);
  });
});

describe("events", () => {
  test("report changed flags", async () => {
    const changed = vi.fn();
    client.addHandler(ProviderEvents.ConfigurationChanged, changed);
    await host.auth.api.createFeatureFlag({ body: flag({ key: newKey() }) });
    await vi.waitFor(() => expect(changed).toHaveBeenCalled(), 10_000);
    client.removeHandler(ProviderEvents.ConfigurationChanged, changed);
    expect(client.providerStatus).toBe(ProviderStatus.READY);
  });

  test("report changed flags of an organization, and not that its flags were read for the first time", async () => {
    const tenants = await memoryHost({ flags: { multiTenant: true } });
    const { api } = tenants.auth;
    const make = (organizationId: string) =>
      api.createFeatureFlag({
        body: flag({ key: "k", type: "boolean", enabled: true, defaultValue: false, organizationId }),
      });
    const { id } = await make("acme");
    await OpenFeature.setProviderAndWait("tenants", createServerProvider(tenants.auth, { pollMs: 20 }));
    const other = OpenFeature.getClient("tenants");
    const read = (organizationId: string) =>
      other.getBooleanValue("k", false, { targetingKey: "u", organizationId });
    const changed = vi.fn();
    other.addHandler(ProviderEvents.ConfigurationChanged, changed);
    expect(await read("acme")).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(changed).not.toHaveBeenCalled();
    await api.updateFeatureFlag({ body: { id, defaultValue: true } });
    expect(await read("acme")).toBe(true);
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), 10_000);
  });

  test("report that flags are stale, and that they are current again", async () => {
    let stale = false;
    const api = {
      ...host.auth.api,
      getFeatureFlagsHealth: async () => ({ status: "ok", revision: 1, stale }),
    };
    await OpenFeature.setProviderAndWait("stale", createServerProvider({ api }, { pollMs: 5 }));
    const other = OpenFeature.getClient("stale");
    stale = true;
    await vi.waitFor(() => expect(other.providerStatus).toBe(ProviderStatus.STALE), 10_000);
    stale = false;
    await vi.waitFor(() => expect(other.providerStatus).toBe(ProviderStatus.READY), 10_000);
  });
});

describe("a provider", () => {
  test("is stale without details in health, and reports no new revision", async () => {
    const changed = vi.fn();
    let isDown = false;
    const getFeatureFlagsHealth = vi.fn(async () =>
      isDown ? { status: "degraded" } : { status: "ok", revision: 1, stale: false },
    );
    const api = { ...host.auth.api, getFeatureFlagsHealth };
    await OpenFeature.setProviderAndWait("down", createServerProvider({ api }, { pollMs: 5 }));
    const other = OpenFeature.getClient("down");
    other.addHandler(ProviderEvents.ConfigurationChanged, changed);
    isDown = true;
    await vi.waitFor(() => expect(other.providerStatus).toBe(ProviderStatus.STALE), 10_000);
    isDown = false;
    await vi.waitFor(() => expect(other.providerStatus).toBe(ProviderStatus.READY), 10_000);
    expect(changed).not.toHaveBeenCalled();
  });

  test("starts on platforms whose timers are numbers, and checks health once at a time", async () => {
    const ticks: (() => void)[] = [];
    const interval = vi.spyOn(globalThis, "setInterval").mockImplementation(((tick: () => void) => {
      ticks.push(tick);
      return 1;
    }) as never);
    const getFeatureFlagsHealth = vi.fn(async () => ({ status: "ok", revision: 1, stale: false }));
    const provider = createServerProvider({ api: { ...host.auth.api, getFeatureFlagsHealth } });
    await provider.initialize?.({});
    interval.mockRestore();
    expect(ticks).toHaveLength(1);
    getFeatureFlagsHealth.mockImplementation(() => new Promise(() => undefined));
    for (let at = 0; at < 3; at++) ticks[0]?.();
    expect(getFeatureFlagsHealth).toHaveBeenCalledTimes(2);
  });
});

describe("tracking", () => {
  test("sends events that name a flag, for the user of the context", async () => {
    const createFeatureFlagEvent = vi.fn(async () => ({ success: true }));
    const api = { ...host.auth.api, createFeatureFlagEvent };
    await OpenFeature.setProviderAndWait("tracking", createServerProvider({ api }, { pollMs: 0 }));
    const other = OpenFeature.getClient("tracking");
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    other.track("bought", { targetingKey: "ada" }, { flagKey: "split", value: 9.5, currency: "NOK" });
    other.track("bought", {}, { value: 1 });
    expect(createFeatureFlagEvent.mock.calls).toEqual([
      [
        {
          body: {
            flagKey: "split",
            event: "bought",
            value: 9.5,
            properties: { currency: "NOK" },
            context: { userId: "ada" },
          },
        },
      ],
    ]);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("bought"));
    warn.mockRestore();
  });
});
