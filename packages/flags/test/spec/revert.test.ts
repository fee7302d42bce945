/** Checks reverts: the inverse of every kind of audit entry, and the refusal after later changes. */
import { type AuditEntry, type EnvironmentsPatch, verifyFeatureFlagAudit } from "@halyard/flags";
import { describe, expect, test } from "vitest";
import type { Host } from "../host.ts";
import { memoryHost, newKey } from "../memory-host.ts";
import { DATABASES, trustedSuite } from "../trusted-host.ts";

const pro = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };

describe.each(DATABASES)("guide/flags-audit: Revert (%s)", (_name, open) => {
  let host: Host;
  trustedSuite(open, {}, (started) => {
    host = started;
  });

  const make = (fields: object = {}) =>
    host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "string", defaultValue: "one", enabled: true, ...fields },
    });
  const entries = async (flagId?: string): Promise<AuditEntry[]> =>
    (await host.auth.api.listFeatureFlagAuditEntries({ query: { limit: 200, ...(flagId && { flagId }) } }))
      .entries;
  const newest = async (): Promise<string> => (await entries())[0]?.id ?? "";
  const revert = (id: string) => host.auth.api.revertFeatureFlagAuditEntry({ body: { id } });
  const get = (id: string) => host.auth.api.getFeatureFlag({ params: { id } });
  const value = async (flagKey: string, context: object = {}) =>
    (await host.auth.api.evaluateFeatureFlag({ body: { flagKey, context } })).value;

  test("an update is reverted field by field, and later changes of other fields stay", async () => {
    const flag = await make({ description: "was" });
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "two", description: null } });
    const entry = await newest();
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, name: "Later" } });
    expect(await revert(entry)).toEqual({
      id: entry,
      action: "flag.updated",
      flagId: flag.id,
      entityId: flag.id,
    });
    expect(await get(flag.id)).toMatchObject({
      defaultValue: "one",
      description: "was",
      name: "Later",
      version: 4,
    });
    expect((await entries(flag.id))[0]).toMatchObject({ action: "flag.updated", before: { version: 3 } });
  });

  test("a change of one environment is reverted by field, and later changes of other environments stay", async () => {
    const production = { enabled: true, rolloutPercentage: 5 };
    const flag = await make({ environments: { staging: { rolloutPercentage: 10 }, production } });
    const change = async (environments: EnvironmentsPatch) => {
      await host.auth.api.updateFeatureFlag({ body: { id: flag.id, environments } });
      return newest();
    };
    const raised = await change({
      staging: { rolloutPercentage: 50, enabled: true },
      "v1.2": { enabled: true },
    });
    const later = await change({ production: { enabled: false }, staging: { defaultValue: "s" } });
    await revert(raised);
    expect((await get(flag.id)).environments).toEqual({
      staging: { rolloutPercentage: 10, defaultValue: "s" },
      production: { enabled: false, rolloutPercentage: 5 },
    });
    await change({ production: { enabled: null }, staging: null });
    await expect(revert(later)).rejects.toMatchObject({
      statusCode: 409,
      body: { details: { fields: ["environments.production.enabled", "environments.staging.defaultValue"] } },
    });
    await revert(await newest());
    expect((await get(flag.id)).environments).toEqual({
      staging: { rolloutPercentage: 10, defaultValue: "s" },
      production: { enabled: false, rolloutPercentage: 5 },
    });
    const added = await change({ "v1.2": {} });
    await change({ "v1.2": { enabled: true } });
    await expect(revert(added)).rejects.toMatchObject({
      body: { details: { fields: ['environments["v1.2"]'] } },
    });
  });

  test("a value that was absent is absent again, even in a JSON flag where null is a value", async () => {
    const flag = await make({ type: "json", defaultValue: { a: 1 } });
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, offValue: null } });
    expect(await get(flag.id)).toHaveProperty("offValue", null);
    await revert(await newest());
    expect(await get(flag.id)).not.toHaveProperty("offValue");
  });

  test("a revert is refused with the fields that later changes touched, and changes nothing", async () => {
    const flag = await make();
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "two", name: "Two" } });
    const entry = await newest();
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "three" } });
    await expect(revert(entry)).rejects.toMatchObject({
      statusCode: 409,
      body: { code: "VALIDATION_ERROR", details: { fields: ["defaultValue"] } },
    });
    expect(await get(flag.id)).toMatchObject({ defaultValue: "three", name: "Two", version: 3 });
    expect(await entries(flag.id)).toHaveLength(3);
  });

  test("a creation is reverted unless the flag was changed or has rules or overrides", async () => {
    const flag = await make();
    const entry = await newest();
    const rule = await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: pro, value: "r" },
    });
    await expect(revert(entry)).rejects.toMatchObject({ body: { details: { fields: ["rules"] } } });
    await host.auth.api.deleteFeatureFlagRule({ body: { flagId: flag.id, ruleId: rule.id } });
    expect(await revert(entry)).toMatchObject({ action: "flag.deleted" });
    await expect(get(flag.id)).rejects.toMatchObject({ statusCode: 404 });
  });

  test("a deleted flag comes back with its id, rules, buckets and overrides, without those that expired", async () => {
    const flag = await make();
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: pro, value: "some", percentage: 50 },
    });
    const context = (at: number) => ({ userId: `u-${at}`, attributes: { plan: "pro" } });
    const values = () => Promise.all(Array.from({ length: 20 }, (_, at) => value(flag.key, context(at))));
    await host.auth.api.createFeatureFlagOverride({ body: { flagId: flag.id, userId: "ada", value: "ada" } });
    // Long enough for the deletion on a busy machine. The store's clock ignores a replaced `Date`.
    const expiresAt = new Date(Date.now() + 4000);
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: "bob", value: "bob", expiresAt: expiresAt.toISOString() },
    });
    const before = await values();
    await host.auth.api.deleteFeatureFlag({ body: { id: flag.id } });
    const entry = await newest();
    await expect.poll(() => Date.now() > expiresAt.getTime()).toBe(true);
    expect(await revert(entry)).toMatchObject({
      action: "flag.created",
      flagId: flag.id,
      missingOverrides: 1,
    });
    expect(await get(flag.id)).toMatchObject({ key: flag.key, version: 2 });
    expect(await values()).toEqual(before);
    expect([await value(flag.key, { userId: "ada" }), await value(flag.key, { userId: "bob" })]).toEqual([
      "ada",
      "one",
    ]);
    await expect(revert(entry)).rejects.toMatchObject({
      statusCode: 409,
      body: { details: { fields: ["id"] } },
    });
  });

  test("a deleted flag whose key is taken does not come back", async () => {
    const flag = await make();
    await host.auth.api.deleteFeatureFlag({ body: { id: flag.id } });
    const entry = await newest();
    await make({ key: flag.key });
    await expect(revert(entry)).rejects.toMatchObject({
      statusCode: 409,
      body: { details: { field: "key" } },
    });
  });

  test("rules are reverted: created, changed and deleted", async () => {
    const flag = await make();
    const params = { flagId: flag.id };
    const rules = async () => (await host.auth.api.listFeatureFlagRules({ params })).rules;
    const rule = await host.auth.api.createFeatureFlagRule({
      params,
      body: { priority: 1, conditions: pro, value: "r" },
    });
    const created = await newest();
    await host.auth.api.updateFeatureFlagRule({
      body: { ...params, ruleId: rule.id, value: "s", name: "S" },
    });
    await expect(revert(created)).rejects.toMatchObject({ body: { details: { fields: ["name", "value"] } } });
    await revert(await newest());
    const [restored] = await rules();
    expect(restored).toMatchObject({ value: "r", version: 3 });
    expect(restored).not.toHaveProperty("name");
    await host.auth.api.deleteFeatureFlagRule({ body: { ...params, ruleId: rule.id } });
    await revert(await newest());
    expect(await rules()).toMatchObject([{ id: rule.id, value: "r", version: 4 }]);
    await revert(created);
    expect(await rules()).toEqual([]);
  });

  test("overrides and segments are reverted: created, changed and deleted", async () => {
    const flag = await make();
    const override = await host.auth.api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: "ada", value: "mine", reason: "test" },
    });
    const created = await newest();
    await host.auth.api.deleteFeatureFlagOverride({ body: { id: override.id } });
    await revert(await newest());
    expect(await value(flag.key, { userId: "ada" })).toBe("mine");
    // The override that came back has an id of its own, so the first one stays deleted.
    await expect(revert(created)).rejects.toMatchObject({ statusCode: 404 });
    await revert(await newest());
    expect(await value(flag.key, { userId: "ada" })).toBe("one");

    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: newKey(), conditions: pro },
    });
    const made = await newest();
    await host.auth.api.updateFeatureFlagSegment({
      body: { id: segment.id, name: "Pros", conditions: { conditions: [] } },
    });
    await revert(await newest());
    const now = await host.auth.api.getFeatureFlagSegment({ params: { id: segment.id } });
    expect(now).toMatchObject({ conditions: pro, version: 3 });
    expect(now).not.toHaveProperty("name");
    await host.auth.api.deleteFeatureFlagSegment({ body: { id: segment.id } });
    await revert(await newest());
    expect((await host.auth.api.getFeatureFlagSegment({ params: { id: segment.id } })).key).toBe(segment.key);
    await revert(made);
    await expect(host.auth.api.getFeatureFlagSegment({ params: { id: segment.id } })).rejects.toMatchObject({
      statusCode: 404,
    });
  });

  test("after all reverts the log is complete, and a process that reads all rows has the same flags", async () => {
    expect(await verifyFeatureFlagAudit(host.auth)).toMatchObject({ ok: true });
  });
});

describe("guide/flags-audit: Revert", () => {
  test("a revert needs audit and what the inverse change needs", async () => {
    const host = await memoryHost();
    const owner = await host.person("owner");
    const made = await host.auth.api.createFeatureFlag({ body: { key: "k", name: "N", type: "string" } });
    await host.auth.api.updateFeatureFlag({ body: { id: made.id, name: "M" } });
    const [updated, created] = (await host.auth.api.listFeatureFlagAuditEntries({ query: {} })).entries;
    const attempt = async (actions: readonly string[], id = "") =>
      (
        await host.call("POST", `/feature-flags/admin/audit/${id}/revert`, {
          as: await host.key({ userId: owner.id }, actions),
          body: {},
        })
      ).status;
    expect(await attempt(["update"], updated?.id)).toBe(403);
    expect(await attempt(["audit"], updated?.id)).toBe(403);
    expect(await attempt(["audit", "update"], created?.id)).toBe(403);
    expect(await attempt(["audit", "update"], updated?.id)).toBe(200);
    expect(await attempt(["audit", "update"], "no-such-entry")).toBe(404);
  });

  test("an entry of another organization does not exist", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const [ada, bob] = [await host.person("ada"), await host.person("bob")];
    const [a, b] = [await host.organization(ada, "a"), await host.organization(bob, "b")];
    await host.createFlag({ key: "k", name: "N", type: "string", organizationId: a }, ada);
    const { json } = await host.call("GET", `/feature-flags/admin/audit?organizationId=${a}`, { as: ada });
    const path = `/feature-flags/admin/audit/${json.entries[0].id}/revert`;
    expect((await host.call("POST", `${path}?organizationId=${b}`, { as: bob, body: {} })).status).toBe(404);
    expect((await host.call("POST", path, { as: ada, body: {} })).status).toBe(200);
  });
});
