/** Checks what each server method takes and returns, called as an application calls it. */
import { featureFlags } from "@halyard/flags";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { Host } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";

let host: Host;
suiteHost({}, (started) => {
  host = started;
});

const create = (fields: object = {}) =>
  host.auth.api.createFeatureFlag({
    body: { key: newKey(), name: "N", type: "string", enabled: true, ...fields },
  });

describe("guide/flags-http: Routes (server methods)", () => {
  test("evaluateFeatureFlag returns the result, and with select: value only value and evaluatedAt", async () => {
    const { key } = await create({ defaultValue: "v" });
    const result = await host.auth.api.evaluateFeatureFlag({ body: { flagKey: key } });
    expect(result).toEqual({
      value: "v",
      reason: "default",
      metadata: expect.anything(),
      evaluatedAt: expect.any(String),
    });
    const value = await host.auth.api.evaluateFeatureFlag({ body: { flagKey: key, select: "value" } });
    expect(value).toEqual({ value: "v", evaluatedAt: expect.any(String) });
  });

  test("evaluateFeatureFlags returns flags, evaluatedAt and context", async () => {
    const { key } = await create({ defaultValue: "v" });
    const body = { flagKeys: [key], select: "value", context: { userId: "u" } } as const;
    expect(await host.auth.api.evaluateFeatureFlags({ body })).toEqual({
      flags: { [key]: "v" },
      evaluatedAt: expect.any(String),
      context: { userId: "u" },
    });
  });

  test("bootstrapFeatureFlags returns flags, evaluatedAt and context", async () => {
    const { key } = await create({ defaultValue: "v" });
    const body = { include: [key], select: ["value"] } as const;
    expect(await host.auth.api.bootstrapFeatureFlags({ body })).toEqual({
      flags: { [key]: { value: "v" } },
      evaluatedAt: expect.any(String),
      context: {},
    });
  });

  test("createFeatureFlag returns the flag", async () => {
    const flag = await create({ description: "D", metadata: { a: 1 } });
    expect(flag).toMatchObject({
      name: "N",
      description: "D",
      type: "string",
      enabled: true,
      metadata: { a: 1 },
      version: 1,
    });
  });

  test("listFeatureFlags returns flags and a page, and its query is optional", async () => {
    const { key } = await create({ enabled: false });
    const { flags, page } = await host.auth.api.listFeatureFlags({
      query: { prefix: key, enabled: false, limit: 5 },
    });
    expect([flags.map((flag) => flag.key), page]).toEqual([[key], { limit: 5, hasMore: false }]);
    expect((await host.auth.api.listFeatureFlags()).page.limit).toBe(50);
  });

  test("updateFeatureFlag returns the changed flag, and refuses a stale version", async () => {
    const { id } = await create();
    expect(await host.auth.api.updateFeatureFlag({ body: { id, name: "M", version: 1 } })).toMatchObject({
      id,
      name: "M",
      version: 2,
    });
    const stale = host.auth.api.updateFeatureFlag({ body: { id, name: "O", version: 1 } });
    await expect(stale).rejects.toMatchObject({ statusCode: 409, body: { code: "VALIDATION_ERROR" } });
    const odd = host.auth.api.updateFeatureFlag({ body: { id, version: 0 } });
    await expect(odd).rejects.toMatchObject({ statusCode: 400 });
    // @ts-expect-error the id is required
    await expect(host.auth.api.updateFeatureFlag({ body: { name: "M" } })).rejects.toMatchObject({
      statusCode: 400,
    });
  });

  test("deleteFeatureFlag returns nothing, and refuses a stale version", async () => {
    const { id } = await create();
    const stale = host.auth.api.deleteFeatureFlag({ body: { id, version: 2 } });
    await expect(stale).rejects.toMatchObject({ statusCode: 409 });
    expect(await host.auth.api.deleteFeatureFlag({ body: { id } })).toBeUndefined();
    const again = host.auth.api.deleteFeatureFlag({ body: { id } });
    await expect(again).rejects.toMatchObject({ statusCode: 404, body: { code: "FLAG_NOT_FOUND" } });
  });

  test("createFeatureFlagRule returns the rule, and listFeatureFlagRules the rules of a flag", async () => {
    const { id } = await create();
    const body = { flagId: id, priority: 1, conditions: { conditions: [] }, value: "r" };
    const rule = await host.auth.api.createFeatureFlagRule({ body });
    expect(rule).toMatchObject({
      flagId: id,
      priority: 1,
      value: "r",
      enabled: true,
      createdAt: expect.any(Date),
    });
    expect(await host.auth.api.listFeatureFlagRules({ params: { flagId: id } })).toEqual({ rules: [rule] });
  });

  test("createFeatureFlagOverride returns the override, and listFeatureFlagOverrides a page of overrides", async () => {
    const { id } = await create();
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const body = { flagId: id, userId: "u", value: "o", expiresAt };
    const override = await host.auth.api.createFeatureFlagOverride({ body });
    expect(override).toMatchObject({ flagId: id, userId: "u", value: "o", enabled: true });
    expect(await host.auth.api.listFeatureFlagOverrides({ query: { flagId: id, sort: "userId" } })).toEqual({
      overrides: [override],
      page: { limit: 50, hasMore: false },
    });
  });

  test("listFeatureFlagAuditEntries returns entries", async () => {
    const { id } = await create();
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({
      query: { flagId: id, action: "create", limit: 1, offset: 0 },
    });
    expect(entries).toMatchObject([{ action: "flag.created", flagId: id, actor: { type: "system" } }]);
  });

  test("getFeatureFlag returns the flag, and refuses an id that does not exist", async () => {
    const flag = await create({ offValue: "off" });
    expect(await host.auth.api.getFeatureFlag({ params: { id: flag.id } })).toEqual(flag);
    const missing = host.auth.api.getFeatureFlag({ params: { id: "none" } });
    await expect(missing).rejects.toMatchObject({ statusCode: 404, body: { code: "FLAG_NOT_FOUND" } });
  });

  test("updateFeatureFlagRule and deleteFeatureFlagRule change a rule, and refuse a stale version", async () => {
    const { api } = host.auth;
    const { id: flagId } = await create();
    const body = { flagId, priority: 1, conditions: { conditions: [] }, value: "r", percentage: 10 };
    const { id: ruleId } = await api.createFeatureFlagRule({ body });
    const changed = await api.updateFeatureFlagRule({
      body: { flagId, ruleId, percentage: 12.5, version: 1 },
    });
    expect(changed).toMatchObject({ id: ruleId, percentage: 12.5, version: 2 });
    const params = { flagId, ruleId };
    expect((await api.updateFeatureFlagRule({ params, body: { priority: 2 } })).priority).toBe(2);
    const stale = api.updateFeatureFlagRule({ params, body: { priority: 3, version: 1 } });
    await expect(stale).rejects.toMatchObject({ statusCode: 409 });
    await expect(api.deleteFeatureFlagRule({ body: { ...params, version: 1 } })).rejects.toMatchObject({
      statusCode: 409,
    });
    expect(await api.deleteFeatureFlagRule({ params, body: { version: 3 } })).toBeUndefined();
    expect(await api.listFeatureFlagRules({ params: { flagId } })).toEqual({ rules: [] });
  });

  test("deleteFeatureFlagOverride returns nothing, with the id in params or in the body", async () => {
    const { api } = host.auth;
    const { id: flagId } = await create();
    const make = (userId: string) => api.createFeatureFlagOverride({ body: { flagId, userId, value: "o" } });
    const [first, second] = [await make("first"), await make("second")];
    expect(await api.deleteFeatureFlagOverride({ params: { id: first.id } })).toBeUndefined();
    expect(await api.deleteFeatureFlagOverride({ body: { id: second.id } })).toBeUndefined();
    const again = api.deleteFeatureFlagOverride({ body: { id: second.id } });
    await expect(again).rejects.toMatchObject({ statusCode: 404, body: { code: "FLAG_NOT_FOUND" } });
  });

  test("a method with ids takes them in params or in the body", async () => {
    const { api } = host.auth;
    const { id } = await create();
    expect((await api.updateFeatureFlag({ params: { id }, body: { name: "P", version: 1 } })).name).toBe("P");
    const rule = { priority: 1, conditions: { conditions: [] }, value: "r" };
    expect((await api.createFeatureFlagRule({ params: { flagId: id }, body: rule })).flagId).toBe(id);
    const response = await api.updateFeatureFlag({ body: { id, name: "R" }, asResponse: true });
    expect([response.status, response.headers.get("etag")]).toEqual([200, '"3"']);
    expect(await api.deleteFeatureFlag({ params: { id } })).toBeUndefined();
  });

  test("the methods for segments read, change and delete a segment, and refuse a stale version", async () => {
    const { api } = host.auth;
    const segment = await api.createFeatureFlagSegment({
      body: { key: newKey(), conditions: { conditions: [] } },
    });
    const params = { id: segment.id };
    expect(await api.getFeatureFlagSegment({ params })).toEqual(segment);
    expect((await api.updateFeatureFlagSegment({ params, body: { name: "S" } })).name).toBe("S");
    expect((await api.listFeatureFlagSegments({ query: { sort: "key" } })).segments).toHaveLength(1);
    const stale = api.deleteFeatureFlagSegment({ params, body: { version: 1 } });
    await expect(stale).rejects.toMatchObject({ statusCode: 409 });
    expect(await api.deleteFeatureFlagSegment({ body: { id: segment.id, version: 2 } })).toBeUndefined();
  });

  test("every operation has a method, and no method is named after a route", () => {
    type Api = Host["auth"]["api"];
    expectTypeOf<Extract<keyof Api, `${string}Route`>>().toEqualTypeOf<never>();
    const { endpoints } = featureFlags();
    const httpOnly = Object.entries(endpoints)
      .filter(([, { options }]) => options.metadata.scope === "http")
      .map(([name]) => name);
    expect(httpOnly.every((name) => /Ofrep|Console/.test(name))).toBe(true);
    // Each endpoint is one more entry in the host's router.
    expect(Object.keys(endpoints).length).toBeLessThanOrEqual(45);
  });
});
