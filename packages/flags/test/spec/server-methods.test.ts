/** Checks what each server method takes and returns, called as an application calls it. */
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

  test("the methods for segments take the id as params, as their routes do", async () => {
    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: newKey(), conditions: { conditions: [] } },
    });
    const params = { id: segment.id };
    expect(await host.auth.api.getFeatureFlagSegment({ params })).toEqual(segment);
    expect((await host.auth.api.updateFeatureFlagSegment({ params, body: { name: "S" } })).name).toBe("S");
    expect((await host.auth.api.listFeatureFlagSegments({ query: { sort: "key" } })).segments).toHaveLength(
      1,
    );
    expect(await host.auth.api.deleteFeatureFlagSegment({ params })).toBeUndefined();
  });

  test("no method deletes an override or changes a rule", () => {
    type Api = Host["auth"]["api"];
    expectTypeOf<Extract<keyof Api, `${string}Route`>>().toEqualTypeOf<never>();
    expectTypeOf<Api>().toHaveProperty("createFeatureFlagOverride");
  });
});
