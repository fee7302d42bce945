/** Checks what an audit entry says about a change. */
import { type AuditHead, verifyFeatureFlagAudit } from "@halyard/flags";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers, ISO } from "./flag-helpers.ts";
import { everyone, WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({ admin: { allowImpersonatingAdmins: true } }, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-audit: Audit entry (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);

  test("each of eight kinds of change writes one entry, with the entity before and after and a chained hash", async () => {
    const flag = await make({ enabled: false });
    await way().updateFlag(flag.id, { enabled: true });
    const { json: rule } = await way().createRule(flag.id, {
      priority: 1,
      conditions: everyone,
      value: "r",
    });
    const path = `/feature-flags/admin/flags/${flag.id}/rules/${rule.id}`;
    await host.call("PATCH", path, { as: admin, body: { priority: 2 } });
    await host.call("DELETE", path, { as: admin });
    const { json: override } = await way().createOverride({ flagId: flag.id, userId: "u", value: "o" });
    await host.call("DELETE", `/feature-flags/admin/overrides/${override.id}`, { as: admin });
    await way().deleteFlag(flag.id);
    const { entries } = (await way().listAudit({ flagId: flag.id })).json;
    const oldestFirst = entries.toReversed();
    expect(oldestFirst.map((entry: { action: string }) => entry.action)).toEqual([
      "flag.created",
      "flag.updated",
      "rule.created",
      "rule.updated",
      "rule.deleted",
      "override.created",
      "override.deleted",
      "flag.deleted",
    ]);
    for (const [at, entry] of oldestFirst.entries()) {
      expect(entry).toMatchObject({ flagId: flag.id, flagKey: flag.key, at: expect.stringMatching(ISO) });
      expect(entry.hash).toMatch(/^[0-9a-f]{64}$/);
      if (at > 0) expect(entry.prevHash).toBe(oldestFirst[at - 1].hash);
      if (at > 0) expect(entry.revision).toBe(oldestFirst[at - 1].revision + 1);
    }
    expect([oldestFirst[1].before.enabled, oldestFirst[1].after.enabled]).toEqual([false, true]);
    expect([oldestFirst[0].before, oldestFirst[7].after]).toEqual([null, null]);
    expect(oldestFirst[3].entityId).toBe(rule.id);
    expect(oldestFirst[2].after).toMatchObject({
      id: rule.id,
      salt: rule.id,
      position: oldestFirst[2].revision,
    });
  });

  test("deleting a flag keeps its rules and overrides in the entry", async () => {
    const flag = await make();
    const conditions = { conditions: [{ attribute: "plan", operator: "equals", value: "pro" }] };
    const { json: rule } = await way().createRule(flag.id, { priority: 1, conditions, value: "r" });
    const { json: override } = await way().createOverride({ flagId: flag.id, userId: "u", value: "o" });
    await way().deleteFlag(flag.id);
    const { entries } = (await way().listAudit({ flagId: flag.id, action: "delete" })).json;
    expect(entries).toMatchObject([
      { action: "flag.deleted", before: { id: flag.id, rules: [rule], overrides: [override] } },
    ]);
  });

  test("a PATCH that leaves every value as it was writes no entry and keeps the version", async () => {
    const flag = await make({ enabled: true });
    for (const same of [{}, { enabled: true, name: flag.name }]) {
      expect((await way().updateFlag(flag.id, same)).json).toMatchObject({ version: 1 });
    }
    expect((await way().listAudit({ flagId: flag.id })).json.entries).toHaveLength(1);
  });
});

describe("guide/flags-audit: Audit entry", () => {
  test("an entry names the user who made the change and where the request came from", async () => {
    const key = newKey();
    const { json: flag } = await host.call("POST", "/feature-flags/admin/flags", {
      as: admin,
      body: { key, name: "N", type: "boolean" },
      headers: { "user-agent": "curl/8", "x-request-id": "req-1", "x-forwarded-for": "203.0.113.9" },
    });
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, name: "M" } });
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: flag.id } });
    expect(entries[1]).toMatchObject({
      actor: { type: "user", id: admin.id },
      ip: "203.0.113.9",
      userAgent: "curl/8",
      requestId: "req-1",
    });
    expect(entries[0]?.actor).toEqual({ type: "system", id: "system" });
    expect(entries[0]).not.toHaveProperty("ip");
    expect(entries[1]).not.toHaveProperty("impersonatedBy");
  });

  test("an entry says why the change was made, where the caller said so", async () => {
    const { json: flag } = await host.call("POST", "/feature-flags/admin/flags?note=For+the+spring+sale", {
      as: admin,
      body: { key: newKey(), name: "N", type: "boolean" },
    });
    const params = { id: flag.id };
    await host.auth.api.updateFeatureFlag({ params, body: { name: "M" }, query: { note: "Renamed" } });
    await host.auth.api.updateFeatureFlag({ params, body: { name: "O" }, query: { note: "" } });
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: flag.id } });
    expect(entries.map(({ note }) => note)).toEqual([undefined, "Renamed", "For the spring sale"]);
    const long = host.auth.api.updateFeatureFlag({ params, body: {}, query: { note: "a".repeat(256) } });
    await expect(long).rejects.toMatchObject({ body: { code: "VALIDATION_ERROR" } });
  });

  test("the entries of one change have its changeId, and those of another have another", async () => {
    const make = async () =>
      host.auth.api.createFeatureFlag({ body: { key: newKey(), name: "N", type: "boolean" } });
    const [one, other] = [await make(), await make()];
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: one.id, priority: 1, conditions: { conditions: [] }, value: true },
    });
    await host.auth.api.deleteFeatureFlag({ params: { id: one.id } });
    const [deleted] = (await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: one.id } }))
      .entries;
    await host.auth.api.revertFeatureFlagAuditEntry({ params: { id: String(deleted?.id) } });
    const fields = { enabled: true };
    const { id } = await host.auth.api.planFeatureFlags({
      body: { changes: [one, other].map(({ id: flagId }) => ({ flagId, fields })) },
    });
    await host.auth.api.applyFeatureFlagPlan({ params: { id } });
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { limit: 5 } });
    const [second, first, created, rule, before] = entries.map(({ changeId }) => changeId);
    expect([first, rule]).toEqual([second, created]);
    expect(new Set([second, created, before]).size).toBe(3);
  });

  test("a change in an impersonated session names the user and the admin who acts as that user", async () => {
    const other = await host.person("other-admin", "admin");
    const { headers } = await host.auth.api.impersonateUser({
      body: { userId: other.id },
      headers: new Headers(admin.headers),
      returnHeaders: true,
    });
    const kept = headers.getSetCookie().filter((line) => !line.includes("Max-Age=0"));
    const cookie = kept.map((line) => line.split(";", 1)[0]);
    const { json: flag } = await host.call("POST", "/feature-flags/admin/flags", {
      as: { headers: { cookie: cookie.join("; ") } },
      body: { key: newKey(), name: "N", type: "boolean" },
    });
    const { json } = await host.call("GET", `/feature-flags/admin/audit?flagId=${flag.id}`, { as: admin });
    expect(json.entries).toMatchObject([{ actor: { type: "user", id: other.id }, impersonatedBy: admin.id }]);
  });
});

describe("guide/flags-audit: Verification", () => {
  test("verifyFeatureFlagAudit finds the first, a middle and the last entry missing, in one organization only", async () => {
    const heads: AuditHead[] = [];
    const app = await memoryHost({
      flags: { multiTenant: true, onAuditHead: (head) => void heads.push(head) },
    });
    const owner = await app.person("owner");
    const change = (organizationId: string) =>
      app.auth.api.createFeatureFlag({
        body: { key: newKey(), name: "N", type: "boolean", organizationId },
      });
    const untouched = await app.organization(owner, "untouched");
    await change(untouched);
    await change("");
    for (const [index, position] of ["first", "middle", "last"].entries()) {
      const organizationId = await app.organization(owner, position);
      for (let write = 0; write < 3; write++) await change(organizationId);
      const verify = () => verifyFeatureFlagAudit(app.auth, { organizationId });
      expect(await verify()).toEqual({ ok: true, entries: 3 });
      const { entries } = await app.auth.api.listFeatureFlagAuditEntries({ query: { organizationId } });
      const { revision, hash } = entries[0] ?? {};
      expect(heads.at(-1)).toEqual({ organizationId, revision, hash });
      app.db
        .prepare('delete from "featureFlagAudit" where "tenant" = ? and "revision" = ?')
        .run(organizationId, index + 1);
      expect(await verify()).toEqual({ ok: false, revision: index + 1, problem: "the entry is missing" });
    }
    expect(await verifyFeatureFlagAudit(app.auth, { organizationId: untouched })).toMatchObject({ ok: true });
    expect(await verifyFeatureFlagAudit(app.auth)).toEqual({ ok: true, entries: 1 });
    const head = { revision: 1, hash: "of another log" };
    expect(await verifyFeatureFlagAudit(app.auth, { head })).toMatchObject({ ok: false, revision: 1 });
  });

  test("verifyFeatureFlagAudit refuses an organization without multiTenant, and an auth instance without flags", async () => {
    const wrong = verifyFeatureFlagAudit(host.auth, { organizationId: "acme" });
    await expect(wrong).rejects.toThrow("needs the option multiTenant");
    const without = { options: {}, $context: host.auth.$context };
    await expect(verifyFeatureFlagAudit(without)).rejects.toThrow("has no featureFlags plugin");
  });
});
