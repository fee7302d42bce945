/** Checks the web provider through OpenFeature's SDK: values, context changes, events and tracking. */
import { createWebProvider } from "@halyard/flags/openfeature/web";
import { testFlags } from "@halyard/flags/testing";
import { OpenFeature, ProviderEvents, ProviderStatus } from "@openfeature/web-sdk";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BOOTSTRAP, createClient, gate } from "../client/kit.ts";
import type { Host, Person } from "../host.ts";
import { flag, newKey, suiteHost } from "../memory-host.ts";

let host: Host;
let ada: Person;

const quiet = () => undefined;
OpenFeature.setLogger({ error: quiet, warn: quiet, info: quiet, debug: quiet });

suiteHost({}, async (started) => {
  host = started;
  ada = await host.person("ada");
  const { api } = host.auth;
  const make = (fields: object) => api.createFeatureFlag({ body: flag({ enabled: true, ...fields }) });
  await make({ key: "boolean", type: "boolean", defaultValue: true });
  await make({ key: "number", type: "number", defaultValue: 1.5 });
  await make({ key: "object", type: "json", defaultValue: { a: [1] } });
  await make({ key: "off", type: "boolean", enabled: false, defaultValue: true });
  await make({ key: "split", type: "string", variants: [{ key: "only", weight: 100, value: "v" }] });
  const targeted = await make({ key: "targeted", type: "string", defaultValue: "d" });
  const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };
  await api.createFeatureFlagRule({
    body: { flagId: targeted.id, priority: 1, conditions, value: "for pros" },
  });
  await api.createFeatureFlagOverride({ body: { flagId: targeted.id, userId: ada.id, value: "ada's" } });
});
beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await OpenFeature.clearProviders();
  await OpenFeature.clearContexts();
});
afterAll(() => OpenFeature.close());

/** Creates a separate provider and domain for each test. */
async function start(options: Parameters<typeof createClient>[1] = {}) {
  const domain = newKey("domain");
  const made = createClient(host.origin, { exposures: false, ...options });
  await OpenFeature.setProviderAndWait(domain, createWebProvider(made.client));
  return { ...made, domain, open: OpenFeature.getClient(domain) };
}

describe("evaluation", () => {
  test("returns values of every type with reason and variant, without another request", async () => {
    const { open, network } = await start();
    expect(open.getBooleanValue("boolean", false)).toBe(true);
    expect(open.getNumberValue("number", 0)).toBe(1.5);
    expect(open.getObjectValue("object", {})).toEqual({ a: [1] });
    expect(open.getBooleanDetails("off", false)).toMatchObject({ value: true, reason: "DISABLED" });
    expect(open.getStringDetails("split", "")).toMatchObject({
      value: "v",
      variant: "only",
      reason: "SPLIT",
    });
    expect(open.getStringDetails("targeted", "")).toMatchObject({ value: "d", reason: "DEFAULT" });
    expect(network.paths).toEqual([BOOTSTRAP]);
  });

  test("returns the default and an error code on failure", async () => {
    const { open } = await start();
    expect(open.getBooleanDetails("unknown", true)).toMatchObject({
      value: true,
      errorCode: "FLAG_NOT_FOUND",
    });
    expect(open.getBooleanDetails("number", true)).toMatchObject({ value: true, errorCode: "TYPE_MISMATCH" });
  });

  test("uses the session's user", async () => {
    const { open } = await start({ visitor: { headers: ada.headers } });
    expect(open.getStringDetails("targeted", "")).toMatchObject({
      value: "ada's",
      reason: "TARGETING_MATCH",
    });
  });
});

describe("a change of context", () => {
  test("is reconciled before it takes effect, and emits an event", async () => {
    const { open, domain } = await start();
    const changed = vi.fn();
    open.addHandler(ProviderEvents.ContextChanged, changed);
    await OpenFeature.setContext(domain, { plan: "pro" });
    expect(open.getStringValue("targeted", "")).toBe("for pros");
    expect(changed).toHaveBeenCalledTimes(1);
    await OpenFeature.setContext(domain, {});
    expect(open.getStringValue("targeted", "")).toBe("d");
  });

  test("returns no values of the previous context in the meantime", async () => {
    const { open, domain, network } = await start();
    const held = gate();
    network.intercept = () => held.opened.then(() => Response.json({}, { status: 500 }));
    const setting = OpenFeature.setContext(domain, { plan: "pro" });
    expect(open.getStringDetails("targeted", "default")).toMatchObject({ value: "default", reason: "ERROR" });
    held.open();
    await setting;
    expect(open.providerStatus).toBe(ProviderStatus.ERROR);
  });

  test("to another user is refused by the server, and reads return defaults", async () => {
    const bob = await host.person(newKey("bob"));
    const { open, domain } = await start({ visitor: { headers: bob.headers } });
    expect(open.getStringValue("targeted", "")).toBe("d");
    await OpenFeature.setContext(domain, { targetingKey: ada.id });
    expect(open.getStringValue("targeted", "default")).toBe("default");
    await OpenFeature.setContext(domain, { targetingKey: bob.id });
    expect(open.getStringValue("targeted", "default")).toBe("d");
  });
});

describe("events", () => {
  test("name the flags that have changed", async () => {
    const { open, flags } = await start();
    const changed = vi.fn();
    open.addHandler(ProviderEvents.ConfigurationChanged, changed);
    const key = newKey();
    await host.auth.api.createFeatureFlag({ body: flag({ key, enabled: true }) });
    await flags.bootstrap();
    expect(changed).toHaveBeenCalledWith(expect.objectContaining({ flagsChanged: [key] }));
  });

  test("report that the server does not respond, and that it responds again", async () => {
    const { open, flags, network } = await start();
    network.isDown = true;
    await flags.bootstrap();
    expect(open.providerStatus).toBe(ProviderStatus.STALE);
    expect(open.getBooleanDetails("boolean", false)).toMatchObject({ value: true, reason: "STALE" });
    network.isDown = false;
    await flags.bootstrap();
    expect(open.providerStatus).toBe(ProviderStatus.READY);
  });

  test("report an error if there is no server, reads return defaults, and the provider recovers", async () => {
    const domain = newKey("domain");
    const { client, network, flags } = createClient(host.origin, { exposures: false });
    network.isDown = true;
    await expect(OpenFeature.setProviderAndWait(domain, createWebProvider(client))).rejects.toThrow();
    const open = OpenFeature.getClient(domain);
    expect(open.getBooleanDetails("boolean", false)).toMatchObject({
      value: false,
      errorCode: expect.any(String),
    });
    network.isDown = false;
    await flags.bootstrap();
    expect(open.providerStatus).toBe(ProviderStatus.READY);
    expect(open.getBooleanValue("boolean", false)).toBe(true);
  });
});

test("tracking sends events that name a flag", async () => {
  const client = testFlags({ split: "v" });
  const domain = newKey("domain");
  await OpenFeature.setProviderAndWait(domain, createWebProvider(client));
  const open = OpenFeature.getClient(domain);
  open.track("bought", { flagKey: "split", value: 9.5 });
  open.track("bought", { flagKey: "split", value: 1, currency: "NOK" });
  open.track("bought", { value: 1 });
  await vi.waitFor(() => expect(client.tracked).toHaveLength(2), 10_000);
  expect(client.tracked).toEqual([
    { flagKey: "split", event: "bought", properties: 9.5 },
    { flagKey: "split", event: "bought", properties: { currency: "NOK", value: 1 } },
  ]);
});
