/** Checks the admin client, helper by helper, against a server on PostgreSQL. */
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { featureFlagsClient } from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";
import { describe, expect, test } from "vitest";
import { createClient } from "../client/kit.ts";
import type { Host, Person } from "../host.ts";
import { flag, newKey } from "../memory-host.ts";
import { clientSuite } from "./client-suite.ts";

let host: Host;
let admin: Person;
let ada: Person;
clientSuite(async (started) => {
  host = started;
  [admin, ada] = [await host.person("admin", "admin"), await host.person("ada")];
});

const make = (fields: object = {}) =>
  host.auth.api.createFeatureFlag({ body: flag({ key: newKey(), enabled: true, ...fields }) });
const as = (person: Person | undefined) =>
  createClient(host.origin, { visitor: { headers: person?.headers }, exposures: false });
const adminOf = (person: Person | undefined) => as(person).flags.admin;

describe("guide/flags-admin-client: Methods (admin.flags)", () => {
  test("admin.flags creates, gets, lists, updates and deletes flags", async () => {
    const { flags } = adminOf(admin);
    const key = newKey();
    const value = { at: "2026-01-01T00:00:00.000Z", createdAt: "2026-01-01T00:00:00.000Z" };
    const created = await flags.create({
      key,
      name: "N",
      type: "json",
      defaultValue: value,
      offValue: null,
      metadata: value,
    });
    expect(created.error).toBeNull();
    expect(created.data).toMatchObject({
      key,
      name: "N",
      enabled: false,
      version: 1,
      defaultValue: value,
      metadata: value,
    });
    expect(created.data?.createdAt).toBeInstanceOf(Date);
    expect(created.data?.updatedAt).toBeInstanceOf(Date);
    const id = created.data?.id ?? "";
    expect((await flags.get(id)).data).toEqual(created.data);

    const listed = await flags.list({
      prefix: key,
      type: "json",
      enabled: false,
      sort: "-key",
      limit: 1,
      q: key,
    });
    expect(listed.data).toEqual({ flags: [created.data], page: { limit: 1, hasMore: false } });

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

  test("admin.flags.list returns pages with cursors", async () => {
    const prefix = newKey("page");
    for (const at of [1, 2, 3]) await make({ key: `${prefix}-${at}` });
    const { flags } = adminOf(admin);
    const first = await flags.list({ prefix, limit: 2, sort: "key" });
    expect(first.data?.page).toMatchObject({ limit: 2, hasMore: true });
    const second = await flags.list({ prefix, limit: 2, sort: "key", cursor: first.data?.page.nextCursor });
    expect(second.data?.flags.map(({ key }) => key)).toEqual([`${prefix}-3`]);
  });

  test("admin.flags resolves with an error for a caller without permission, and never throws", async () => {
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

describe("guide/flags-admin-client: Methods (admin.rules)", () => {
  test("admin.rules creates, lists, updates and deletes the rules of a flag", async () => {
    const { rules } = adminOf(admin);
    const { id: flagId, key } = await make({ defaultValue: "d" });
    const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };
    const created = await rules.create({ flagId, priority: 1, conditions, value: "for pros" });
    expect(created.data).toMatchObject({ flagId, priority: 1, conditions, value: "for pros", enabled: true });
    expect(created.data?.createdAt).toBeInstanceOf(Date);
    expect((await rules.list(flagId)).data).toEqual({ rules: [created.data] });
    const id = created.data?.id ?? "";
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

describe("guide/flags-admin-client: Methods (admin.overrides)", () => {
  test("admin.overrides creates, lists and deletes overrides", async () => {
    const { overrides } = adminOf(admin);
    const { id: flagId } = await make({ defaultValue: "d" });
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const created = await overrides.create({
      flagId,
      userId: ada.id,
      value: "ada's",
      reason: "support case",
      expiresAt,
    });
    expect(created.data).toMatchObject({
      flagId,
      userId: ada.id,
      value: "ada's",
      reason: "support case",
      enabled: true,
    });
    expect(created.data?.expiresAt).toEqual(new Date(expiresAt));
    expect((await overrides.list({ flagId })).data).toEqual({
      overrides: [created.data],
      page: { limit: 50, hasMore: false },
    });
    expect(await overrides.delete(created.data?.id ?? "")).toEqual({ data: null, error: null });
    expect((await overrides.list({ flagId })).data?.overrides).toEqual([]);
  });
});

describe("guide/flags-admin-client: Methods (admin.segments)", () => {
  test("admin.segments creates, gets, lists, updates and deletes segments", async () => {
    const { segments } = adminOf(admin);
    const key = newKey("segment");
    const created = await segments.create({ key, conditions: { conditions: [] } });
    const id = created.data?.id ?? "";
    expect(created.data?.updatedAt).toBeInstanceOf(Date);
    expect((await segments.get(id)).data).toEqual(created.data);
    expect((await segments.list()).data?.segments).toContainEqual(created.data);
    expect((await segments.update(id, { name: "Named" })).data).toMatchObject({ name: "Named" });
    expect(await segments.delete(id)).toEqual({ data: null, error: null });
  });
});

describe("guide/flags-admin-client: Methods (admin.audit)", () => {
  test("admin.audit.list returns entries, newest first, with times as dates and entities unchanged", async () => {
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

describe("guide/flags-admin-client: Methods (admin.analytics)", () => {
  test("stats.get and usage.get return the server's statistics, with the times of series as dates", async () => {
    const { id, key } = await make({ type: "boolean", defaultValue: true });
    await host.evaluate({ flagKey: key }, ada);
    const { stats, usage } = adminOf(admin).analytics;
    const { data: flagStats } = await stats.get(id);
    expect(flagStats).toMatchObject({ flagId: id, evaluations: 1, byReason: { default: 1 } });
    expect(flagStats?.series).toEqual([{ at: expect.any(Date), evaluations: 1 }]);
    const { data: all } = await usage.get();
    expect(all?.evaluations).toBeGreaterThan(0);
    expect(all?.flags.total).toBeGreaterThan(0);
    expect(all?.series[0]?.at).toBeInstanceOf(Date);
    expect((await stats.get(id, { start: "nonsense" })).error).toMatchObject({ status: 400 });
  });
});

describe("guide/flags-admin-client: Methods", () => {
  test.each([404, 405])(
    "a server that passes on only GET and POST (%i) gives an error that says what to mount",
    async (status) => {
      const fetchOptions = { customFetchImpl: async () => new Response(null, { status }) };
      const { featureFlags } = createAuthClient({
        baseURL: host.origin,
        fetchOptions,
        plugins: [featureFlagsClient(), featureFlagsAdminClient()],
      });
      const { flags } = featureFlags.admin;
      for (const [method, { error }] of [
        ["PATCH", await flags.update("id", { enabled: false })],
        ["DELETE", await flags.delete("id")],
      ] as const) {
        expect(error?.status).toBe(status);
        expect(error?.message).toContain(`does not answer ${method} requests`);
        expect(error?.message).toContain("export const { GET, POST, PATCH, DELETE } = toNextJsHandler(auth)");
      }
      expect((await flags.get("id")).error?.message).not.toContain("toNextJsHandler");
      expect((await adminOf(admin).flags.update("missing", {})).error).toMatchObject({
        status: 404,
        code: "FLAG_NOT_FOUND",
      });
    },
  );

  test("without the admin plugin the client has no admin helpers", () => {
    const options = { baseURL: host.origin };
    const both = createAuthClient({ ...options, plugins: [featureFlagsClient(), featureFlagsAdminClient()] });
    expect(both.featureFlags.admin.flags.create).toBeTypeOf("function");
    const client = featureFlagsClient().getActions(async () => ({}), { listen: () => undefined }, undefined);
    expect(client.featureFlags).not.toHaveProperty("admin");
  });
});

describe("guide/flags-admin-client: Methods (by key)", () => {
  test.each(["", "key:"])(
    "every helper accepts %s<key> in place of the id of a flag or segment",
    async (prefix) => {
      const { flags, rules, overrides, segments, analytics, audit } = adminOf(admin);
      const created = await make();
      const id = `${prefix}${created.key}`;
      expect((await flags.get(id)).data?.id).toBe(created.id);
      expect((await flags.update(id, { name: "M" }, { version: 1 })).data?.name).toBe("M");
      expect((await flags.explain(id, { context: {} })).data?.result.reason).toBe("default");
      expect((await analytics.stats.get(id)).data?.flagId).toBe(created.id);
      const rule = { flagId: id, priority: 1, conditions: { conditions: [] }, value: "r" };
      const { data: made } = await rules.create(rule);
      expect((await rules.list(id)).data?.rules).toEqual([made]);
      expect((await rules.update(id, made?.id ?? "", { priority: 2 })).data?.priority).toBe(2);
      expect((await rules.delete(id, made?.id ?? "")).error).toBeNull();
      const { data: override } = await overrides.create({ flagId: id, userId: "u", value: "o" });
      expect((await overrides.list({ flagId: id })).data?.overrides).toEqual([override]);
      expect((await audit.list({ flagId: id })).data?.entries.length).toBeGreaterThan(3);
      const { data: segment } = await segments.create({ key: newKey(), conditions: { conditions: [] } });
      expect((await segments.get(`${prefix}${segment?.key}`)).data).toEqual(segment);
      expect((await segments.delete(`${prefix}${segment?.key}`)).error).toBeNull();
      expect((await flags.delete(id)).error).toBeNull();
      expect((await flags.get(id)).error).toMatchObject({ status: 404, code: "FLAG_NOT_FOUND" });
    },
  );

  test("text that is no id and no key never becomes part of a path, and names no flag", async () => {
    const client = as(admin);
    await host.auth.api.createFeatureFlag({ body: { key: "-", name: "N", type: "boolean" } });
    for (const id of ["../overrides", "key:a/b", "a?b=c", "key:", ""]) {
      expect((await client.flags.admin.flags.get(id)).error?.status).toBe(404);
    }
    expect(new Set(client.network.paths)).toEqual(new Set(["/feature-flags/admin/flags/key:"]));
  });
});
