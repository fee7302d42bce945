/** "Client helpers" and "Versioning" of the contract, helper by helper, against a real server on PostgreSQL. */
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { featureFlagsClient } from "@halyard/flags/client";
import { FeatureFlagsProvider, useFeatureFlag, useFeatureFlags, useVariant } from "@halyard/flags/react";
import { createAuthClient } from "better-auth/client";
import { createElement, type ReactElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../client/kit.ts";
import { freshPostgres } from "../databases.ts";
import { type Host, type Person, startHost } from "../host.ts";
import { flag, newKey } from "../memory-host.ts";

let host: Host;
let admin: Person;
let ada: Person;
let end: () => Promise<void>;

beforeAll(async () => {
  const postgres = await freshPostgres();
  const { database, close } = postgres.connect();
  host = await startHost({ database });
  [admin, ada] = [await host.person("admin", "admin"), await host.person("ada")];
  end = async () => {
    await host.close();
    await close();
    await postgres.drop();
  };
});
afterAll(() => end());
beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const make = (fields: object = {}) =>
  host.auth.api.createFeatureFlag({ body: flag({ key: newKey(), enabled: true, ...fields }) });
const as = (person: Person | undefined) =>
  createClient(host.origin, { visitor: { headers: person?.headers }, exposures: false });
const adminOf = (person: Person | undefined) => as(person).flags.admin;

describe("isEnabled(key, defaultValue?)", () => {
  test("gives a boolean: whether the flag is on for the session's user", async () => {
    const on = await make({ type: "boolean", defaultValue: true });
    const own = await make({ type: "boolean", defaultValue: false });
    await host.auth.api.createFeatureFlagOverride({ body: { flagId: own.id, userId: ada.id, value: true } });
    expect(await as(ada).flags.isEnabled(on.key)).toBe(true);
    expect(await as(ada).flags.isEnabled(own.key)).toBe(true);
    expect(await as(undefined).flags.isEnabled(own.key)).toBe(false);
  });

  test("gives the default only for a flag that does not exist, false without one", async () => {
    const off = await make({ type: "boolean", enabled: false, defaultValue: false });
    const { flags } = as(ada);
    expect(await flags.isEnabled("no-such-flag")).toBe(false);
    expect(await flags.isEnabled("no-such-flag", true)).toBe(true);
    expect(await flags.isEnabled(off.key, true)).toBe(false);
  });
});

describe("getValue(key, defaultValue?)", () => {
  test.for([
    ["boolean", true],
    ["string", "2026-01-01T00:00:00.000Z"],
    ["number", 1.25],
    ["json", { at: "2026-01-01T00:00:00.000Z", list: [1, null, { deep: true }] }],
    ["json", null],
  ] as const)("gives the value of a %s flag as it is: %j", async ([type, defaultValue]) => {
    const { key } = await make({ type, defaultValue });
    expect(await as(ada).flags.getValue(key, "mine")).toEqual(defaultValue);
  });

  test("gives the default, or undefined, for a flag that does not exist", async () => {
    expect(await as(ada).flags.getValue("no-such-flag", "mine")).toBe("mine");
    expect(await as(ada).flags.getValue("no-such-flag")).toBeUndefined();
  });

  test("gives a disabled flag's own default value", async () => {
    const { key } = await make({ enabled: false, defaultValue: "off" });
    expect(await as(ada).flags.getValue(key, "mine")).toBe("off");
  });
});

describe("getVariant(key)", () => {
  test("gives the variant's key, or null", async () => {
    const variants = [{ key: "only", weight: 100, value: "v" }];
    const { flags } = as(ada);
    const [some, none] = [await make({ variants }), await make()];
    expect(await flags.getVariant(some.key)).toBe("only");
    expect(await flags.getVariant(none.key)).toBeNull();
    expect(await flags.getVariant("no-such-flag")).toBeNull();
  });
});

describe("bootstrap()", () => {
  test("gives a map of key to value for the current user, disabled flags too", async () => {
    const [own, off] = [
      await make({ defaultValue: "d" }),
      await make({ enabled: false, defaultValue: "off" }),
    ];
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: own.id, userId: ada.id, value: "ada's" },
    });
    expect(await as(ada).flags.bootstrap()).toMatchObject({ [own.key]: "ada's", [off.key]: "off" });
    expect(await as(undefined).flags.bootstrap()).toMatchObject({ [own.key]: "d" });
  });

  test("replaces what reads use, so that a change is seen", async () => {
    const made = await make({ defaultValue: "before" });
    const { flags } = as(ada);
    expect(await flags.getValue(made.key)).toBe("before");
    await host.auth.api.updateFeatureFlag({ body: { id: made.id, defaultValue: "after" } });
    expect(await flags.getValue(made.key)).toBe("before");
    expect(await flags.bootstrap()).toMatchObject({ [made.key]: "after" });
    expect(await flags.getValue(made.key)).toBe("after");
  });

  test("was called getAllFlags", async () => {
    const { key } = await make({ defaultValue: "v" });
    expect(await as(ada).flags.getAllFlags()).toMatchObject({ [key]: "v" });
  });
});

/** How often the event was counted for the flag, and the sum of its values. */
async function counted(flagId: string, event: string) {
  const { byVariant } = await host.auth.api.getFeatureFlagStats({ params: { id: flagId } });
  const { count = 0, sum = 0 } = byVariant[""]?.events[event] ?? {};
  return { count, sum };
}

describe("track(flagKey, event, value?, options?)", () => {
  test("reports a number, an object or nothing, once per idempotency key", async () => {
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

  test("was called trackEvent", async () => {
    const { id, key } = await make();
    const { flags } = as(ada);
    expect(await flags.trackEvent(key, "clicked", 1, { idempotencyKey: newKey("old") })).toMatchObject({
      success: true,
    });
    expect(await counted(id, "clicked")).toEqual({ count: 1, sum: 1 });
  });
});

describe("trackBatch(items, batchId?)", () => {
  test("reports items with flag, event, data, timestamp and key, once per batch id", async () => {
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

describe("setOverride(flag, value) and clearOverrides()", () => {
  test("are local: the server and other clients know nothing of them", async () => {
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

  test("have no effect in production", async () => {
    const { key } = await make({ defaultValue: "d" });
    vi.stubEnv("NODE_ENV", "production");
    const { flags } = as(ada);
    flags.setOverride(key, "local");
    expect(await flags.getValue(key)).toBe("d");
  });
});

describe("admin.flags", () => {
  test("create, get, list, update and delete", async () => {
    const { flags } = adminOf(admin);
    const key = newKey();
    const value = { at: "2026-01-01T00:00:00.000Z", createdAt: "2026-01-01T00:00:00.000Z" };
    const made = await flags.create({ key, name: "N", type: "json", defaultValue: value, metadata: value });
    expect(made.error).toBeNull();
    expect(made.data).toMatchObject({
      key,
      name: "N",
      enabled: false,
      version: 1,
      defaultValue: value,
      metadata: value,
    });
    expect(made.data?.createdAt).toBeInstanceOf(Date);
    expect(made.data?.updatedAt).toBeInstanceOf(Date);
    const id = made.data?.id ?? "";
    expect((await flags.get(id)).data).toEqual(made.data);

    const listed = await flags.list({
      prefix: key,
      type: "json",
      enabled: false,
      sort: "-key",
      limit: 1,
      q: key,
    });
    expect(listed.data).toEqual({ flags: [made.data], page: { limit: 1, hasMore: false } });

    const updated = await flags.update(id, { name: "M", enabled: true }, { version: 1 });
    expect(updated.data).toMatchObject({ name: "M", enabled: true, version: 2 });
    expect((await flags.update(id, { name: "L" }, { version: 1 })).error).toMatchObject({ status: 409 });
    expect((await flags.explain(id)).data).toMatchObject({ result: { reason: "default" } });
    expect(await flags.delete(id)).toEqual({ data: null, error: null });
    expect(await flags.delete(id)).toEqual({
      data: null,
      error: {
        status: 404,
        code: "FLAG_NOT_FOUND",
        message: expect.any(String),
        details: expect.any(Object),
      },
    });
  });

  test("pages with cursors", async () => {
    const prefix = newKey("page");
    for (const at of [1, 2, 3]) await make({ key: `${prefix}-${at}` });
    const { flags } = adminOf(admin);
    const first = await flags.list({ prefix, limit: 2, sort: "key" });
    expect(first.data?.page).toMatchObject({ limit: 2, hasMore: true });
    const second = await flags.list({ prefix, limit: 2, sort: "key", cursor: first.data?.page.nextCursor });
    expect(second.data?.flags.map(({ key }) => key)).toEqual([`${prefix}-3`]);
  });

  test("tell a caller without permission so, in error, and never throw", async () => {
    const refused = { status: 403, code: "PERMISSION_DENIED" };
    expect(await adminOf(ada).flags.list()).toMatchObject({ data: null, error: refused });
    expect(await adminOf(undefined).flags.list()).toMatchObject({
      data: null,
      error: { ...refused, status: 401 },
    });
    const { flags, network } = as(admin);
    network.isDown = true;
    expect(await flags.admin.flags.list()).toMatchObject({ data: null, error: { status: 0 } });
    network.isDown = false;
    expect(await flags.admin.flags.create({ key: "no spaces", name: "N", type: "boolean" })).toMatchObject({
      data: null,
      error: { status: 400, code: "VALIDATION_ERROR", details: expect.any(Object) },
    });
    for (const id of ["../overrides", "a/b", "", ".."]) {
      expect((await flags.admin.flags.get(id)).error).toMatchObject({ status: 404 });
    }
  });
});

describe("admin.rules", () => {
  test("create, list(flagId), update and delete", async () => {
    const { rules } = adminOf(admin);
    const { id: flagId, key } = await make({ defaultValue: "d" });
    const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };
    const made = await rules.create({ flagId, priority: 1, conditions, value: "for pros" });
    expect(made.data).toMatchObject({ flagId, priority: 1, conditions, value: "for pros", enabled: true });
    expect(made.data?.createdAt).toBeInstanceOf(Date);
    expect((await rules.list(flagId)).data).toEqual({ rules: [made.data] });
    const id = made.data?.id ?? "";
    const { flags } = createClient(host.origin, {
      context: { attributes: { plan: "pro" } },
      exposures: false,
    });
    expect(await flags.getValue(key)).toBe("for pros");
    expect((await rules.update(flagId, id, { enabled: false })).data).toMatchObject({
      enabled: false,
      version: 2,
    });
    expect(await rules.delete(flagId, id)).toEqual({ data: null, error: null });
    expect((await rules.list(flagId)).data).toEqual({ rules: [] });
  });
});

describe("admin.overrides", () => {
  test("create, list({ flagId }) and delete", async () => {
    const { overrides } = adminOf(admin);
    const { id: flagId } = await make({ defaultValue: "d" });
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const made = await overrides.create({
      flagId,
      userId: ada.id,
      value: "ada's",
      reason: "asked",
      expiresAt,
    });
    expect(made.data).toMatchObject({
      flagId,
      userId: ada.id,
      value: "ada's",
      reason: "asked",
      enabled: true,
    });
    expect(made.data?.expiresAt).toEqual(new Date(expiresAt));
    expect((await overrides.list({ flagId })).data).toEqual({
      overrides: [made.data],
      page: { limit: 50, hasMore: false },
    });
    expect(await overrides.delete(made.data?.id ?? "")).toEqual({ data: null, error: null });
    expect((await overrides.list({ flagId })).data?.overrides).toEqual([]);
  });
});

describe("admin.segments", () => {
  test("create, get, list, update and delete", async () => {
    const { segments } = adminOf(admin);
    const key = newKey("segment");
    const made = await segments.create({ key, conditions: { conditions: [] } });
    const id = made.data?.id ?? "";
    expect(made.data?.updatedAt).toBeInstanceOf(Date);
    expect((await segments.get(id)).data).toEqual(made.data);
    expect((await segments.list()).data?.segments).toContainEqual(made.data);
    expect((await segments.update(id, { name: "Named" })).data).toMatchObject({ name: "Named" });
    expect(await segments.delete(id)).toEqual({ data: null, error: null });
  });
});

describe("admin.audit.list({ flagId })", () => {
  test("gives entries, newest first, their times as dates and their entities untouched", async () => {
    const { audit, flags } = adminOf(admin);
    const { id: flagId } = await make();
    await flags.update(flagId, { name: "M" });
    const { data } = await audit.list({ flagId });
    expect(data?.entries.map(({ action, actor }) => [action, actor.type])).toEqual([
      ["flag.updated", "user"],
      ["flag.created", "system"],
    ]);
    expect(data?.entries[0]?.at).toBeInstanceOf(Date);
    expect(data?.entries[0]?.after).toMatchObject({ name: "M", updatedAt: expect.any(String) });
    expect((await audit.list({ flagId, action: "create", limit: 1 })).data?.entries).toHaveLength(1);
  });
});

describe("admin.analytics", () => {
  test("stats.get(flagId) and usage.get() give the figures of the service, the times of series as dates", async () => {
    const { id, key } = await make({ type: "boolean", defaultValue: true });
    await host.evaluate({ flagKey: key }, ada);
    const { stats, usage } = adminOf(admin).analytics;
    const { data: own } = await stats.get(id);
    expect(own).toMatchObject({ flagId: id, evaluations: 1, byReason: { default: 1 } });
    expect(own?.series).toEqual([{ at: expect.any(Date), evaluations: 1 }]);
    const { data: all } = await usage.get();
    expect(all?.evaluations).toBeGreaterThan(0);
    expect(all?.flags.total).toBeGreaterThan(0);
    expect(all?.series[0]?.at).toBeInstanceOf(Date);
    expect((await stats.get(id, { start: "nonsense" })).error).toMatchObject({ status: 400 });
  });
});

describe("the two plugins", () => {
  test("are separate: without the admin plugin there are no admin helpers", () => {
    const options = { baseURL: host.origin };
    const both = createAuthClient({ ...options, plugins: [featureFlagsClient(), featureFlagsAdminClient()] });
    expect(both.featureFlags.admin.flags.create).toBeTypeOf("function");
    const own = featureFlagsClient().getActions(async () => ({}), { listen: () => undefined }, undefined);
    expect(own.featureFlags).not.toHaveProperty("admin");
  });
});

describe("React helpers", () => {
  test("a provider that takes the client; useFeatureFlag, useFeatureFlags and useVariant", async () => {
    const variants = [{ key: "only", weight: 100, value: "v" }];
    const { key } = await make({ variants });
    const { client, flags } = as(ada);
    const bootstrap = await host.auth.api.bootstrapFeatureFlags({ body: { include: [key] } });
    const found: unknown[] = [];
    const render = (element: ReactElement) =>
      renderToString(createElement(FeatureFlagsProvider, { client, bootstrap }, element));
    render(createElement(Read, { name: key, found }));
    render(createElement(Read, { name: "no-such-flag", found }));
    expect(found).toEqual(["v", { key: "only" }, { [key]: "v" }, "default", undefined, { [key]: "v" }]);
    expect(await flags.getValue(key)).toBe("v");
  });
});

function Read({ name, found }: { readonly name: string; readonly found: unknown[] }): null {
  found.push(useFeatureFlag(name, "default"), useVariant(name), useFeatureFlags());
  return null;
}
