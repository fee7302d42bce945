/** Checks the client and the React hooks, helper by helper, against a server on PostgreSQL. */
import { FeatureFlagsProvider, useFeatureFlag, useFeatureFlags, useVariant } from "@halyard/flags/react";
import { createElement, type ReactElement } from "react";
import { renderToString } from "react-dom/server";
import { describe, expect, test, vi } from "vitest";
import { createClient } from "../client/kit.ts";
import type { Host, Person } from "../host.ts";
import { flag, newKey } from "../memory-host.ts";
import { clientSuite } from "./client-suite.ts";

let host: Host;
let ada: Person;
clientSuite(async (started) => {
  host = started;
  ada = await host.person("ada");
});

const make = (fields: object = {}) =>
  host.auth.api.createFeatureFlag({ body: flag({ key: newKey(), enabled: true, ...fields }) });
const as = (person: Person | undefined) =>
  createClient(host.origin, { visitor: { headers: person?.headers }, exposures: false });

describe("guide/flags-client: Read flags (isEnabled)", () => {
  test("isEnabled tells whether the flag is on for the session's user", async () => {
    const on = await make({ type: "boolean", defaultValue: true });
    const overridden = await make({ type: "boolean", defaultValue: false });
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: overridden.id, userId: ada.id, value: true },
    });
    expect(await as(ada).flags.isEnabled(on.key)).toBe(true);
    expect(await as(ada).flags.isEnabled(overridden.key)).toBe(true);
    expect(await as(undefined).flags.isEnabled(overridden.key)).toBe(false);
  });

  test("isEnabled returns the default, or false, only for a flag that does not exist", async () => {
    const off = await make({ type: "boolean", enabled: false, defaultValue: false });
    const { flags } = as(ada);
    expect(await flags.isEnabled("no-such-flag")).toBe(false);
    expect(await flags.isEnabled("no-such-flag", true)).toBe(true);
    expect(await flags.isEnabled(off.key, true)).toBe(false);
  });
});

describe("guide/flags-client: Read flags (getValue)", () => {
  test.for([
    ["boolean", true],
    ["string", "2026-01-01T00:00:00.000Z"],
    ["number", 1.25],
    ["json", { at: "2026-01-01T00:00:00.000Z", list: [1, null, { deep: true }] }],
    ["json", null],
  ] as const)("getValue returns the value of a %s flag unchanged: %j", async ([type, defaultValue]) => {
    const { key } = await make({ type, defaultValue });
    expect(await as(ada).flags.getValue(key, "mine")).toEqual(defaultValue);
  });

  test("getValue returns the default, or undefined, for a flag that does not exist", async () => {
    expect(await as(ada).flags.getValue("no-such-flag", "mine")).toBe("mine");
    expect(await as(ada).flags.getValue("no-such-flag")).toBeUndefined();
  });

  test("getValue returns the defaultValue of a disabled flag", async () => {
    const { key } = await make({ enabled: false, defaultValue: "off" });
    expect(await as(ada).flags.getValue(key, "mine")).toBe("off");
  });
});

describe("guide/flags-client: Read flags (getVariant)", () => {
  test("getVariant returns the variant's key, or null", async () => {
    const variants = [{ key: "only", weight: 100, value: "v" }];
    const { flags } = as(ada);
    const [some, none] = [await make({ variants }), await make()];
    expect(await flags.getVariant(some.key)).toBe("only");
    expect(await flags.getVariant(none.key)).toBeNull();
    expect(await flags.getVariant("no-such-flag")).toBeNull();
  });
});

describe("guide/flags-client: Read flags (bootstrap)", () => {
  test("bootstrap returns a map of key to value for the current user, including disabled flags", async () => {
    const [overridden, off] = [
      await make({ defaultValue: "d" }),
      await make({ enabled: false, defaultValue: "off" }),
    ];
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: overridden.id, userId: ada.id, value: "ada's" },
    });
    expect(await as(ada).flags.bootstrap()).toMatchObject({ [overridden.key]: "ada's", [off.key]: "off" });
    expect(await as(undefined).flags.bootstrap()).toMatchObject({ [overridden.key]: "d" });
  });

  test("bootstrap fetches new values, and later reads use them", async () => {
    const created = await make({ defaultValue: "before" });
    const { flags } = as(ada);
    expect(await flags.getValue(created.key)).toBe("before");
    await host.auth.api.updateFeatureFlag({ body: { id: created.id, defaultValue: "after" } });
    expect(await flags.getValue(created.key)).toBe("before");
    expect(await flags.bootstrap()).toMatchObject({ [created.key]: "after" });
    expect(await flags.getValue(created.key)).toBe("after");
  });

  test("getAllFlags is the old name of bootstrap", async () => {
    const { key } = await make({ defaultValue: "v" });
    expect(await as(ada).flags.getAllFlags()).toMatchObject({ [key]: "v" });
  });
});

/** Returns how often the event counts for the flag, and the sum of its values. */
async function counted(flagId: string, event: string) {
  const { byVariant } = await host.auth.api.getFeatureFlagStats({ params: { id: flagId } });
  const { count = 0, sum = 0 } = byVariant[""]?.events[event] ?? {};
  return { count, sum };
}

describe("guide/flags-client: Events (track)", () => {
  test("track sends a number, an object or no value, and counts once per idempotency key", async () => {
    const { id, key } = await make();
    const { flags } = as(ada);
    for (const value of [3, { plan: "pro" }, undefined]) {
      expect(await flags.track(key, "clicked", value)).toEqual({
        success: true,
        eventId: expect.any(String),
      });
    }
    const options = { idempotencyKey: newKey("once") };
    expect(await flags.track(key, "clicked", 1, options)).toEqual(
      await flags.track(key, "clicked", 1, options),
    );
    expect(await counted(id, "clicked")).toEqual({ count: 4, sum: 4 });
  });

  test("trackEvent is the old name of track", async () => {
    const { id, key } = await make();
    const { flags } = as(ada);
    expect(await flags.trackEvent(key, "clicked", 1, { idempotencyKey: newKey("old") })).toMatchObject({
      success: true,
    });
    expect(await counted(id, "clicked")).toEqual({ count: 1, sum: 1 });
  });
});

describe("guide/flags-client: Events (trackBatch)", () => {
  test("trackBatch sends items with flag, event, data, timestamp and key, and counts once per batch id", async () => {
    const { id, key } = await make();
    const { flags } = as(ada);
    const items = [
      { flag: key, event: "b", data: 1, timestamp: new Date(), idempotencyKey: newKey("item") },
      { flag: key, event: "b", data: { x: 1 } },
      { flag: key, event: "b" },
    ];
    const batchId = newKey("batch");
    expect(await flags.trackBatch(items, batchId)).toEqual({ success: 3, failed: 0, batchId });
    expect(await flags.trackBatch(items, batchId)).toEqual({ success: 3, failed: 0, batchId });
    expect(await counted(id, "b")).toEqual({ count: 3, sum: 1 });
  });
});

describe("guide/flags-client: Local overrides", () => {
  test("setOverride and clearOverrides affect only this client, not the server or other clients", async () => {
    const { key } = await make({ defaultValue: "d" });
    const { flags, network } = as(ada);
    expect(await flags.getValue(key)).toBe("d");
    flags.setOverride(key, "local");
    expect(await flags.getValue(key)).toBe("local");
    expect(await as(ada).flags.getValue(key)).toBe("d");
    expect((await host.evaluate({ flagKey: key }, ada)).json.value).toBe("d");
    flags.clearOverrides();
    expect(await flags.getValue(key)).toBe("d");
    expect(network.paths).toHaveLength(1);
  });

  test("setOverride has no effect in production", async () => {
    const { key } = await make({ defaultValue: "d" });
    vi.stubEnv("NODE_ENV", "production");
    const { flags } = as(ada);
    flags.setOverride(key, "local");
    expect(await flags.getValue(key)).toBe("d");
    expect(console.warn).not.toHaveBeenCalled();
  });

  test("setOverride without NODE_ENV has no effect, and a warning says what to set", async () => {
    const { key } = await make({ defaultValue: "d" });
    vi.stubEnv("NODE_ENV", undefined);
    const { flags } = as(ada);
    flags.setOverride(key, "local");
    flags.setOverride(key, "local");
    expect(await flags.getValue(key)).toBe("d");
    expect(vi.mocked(console.warn).mock.calls).toEqual([
      [
        "[feature-flags] setOverride had no effect, because NODE_ENV is not set. Set it to development or test.",
      ],
    ]);
  });
});

describe("guide/flags-react: Flags: React", () => {
  test("useFeatureFlag, useFeatureFlags and useVariant read the client of the provider", async () => {
    const variants = [{ key: "only", weight: 100, value: "v" }];
    const { key } = await make({ variants });
    const { client, flags } = as(ada);
    const bootstrap = await host.auth.api.bootstrapFeatureFlags({ body: { include: [key] } });
    const renderedValues: unknown[] = [];
    const render = (element: ReactElement) =>
      renderToString(createElement(FeatureFlagsProvider, { client, bootstrap }, element));
    render(createElement(Read, { name: key, renderedValues }));
    render(createElement(Read, { name: "no-such-flag", renderedValues }));
    expect(renderedValues).toEqual([
      "v",
      { key: "only" },
      { [key]: "v" },
      "default",
      undefined,
      { [key]: "v" },
    ]);
    expect(await flags.getValue(key)).toBe("v");
  });
});

function Read({ name, renderedValues }: { readonly name: string; readonly renderedValues: unknown[] }): null {
  renderedValues.push(useFeatureFlag(name, "default"), useVariant(name), useFeatureFlags());
  return null;
}
