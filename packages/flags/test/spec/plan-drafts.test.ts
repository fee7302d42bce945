/** Checks plans of more than fields: rules, segments, overrides, reverts, previews, environments and permissions. */
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey } from "../memory-host.ts";
import { DATABASES, setFields, TRUSTED, trustedSuite } from "../trusted-host.ts";

const pro = { conditions: [{ attribute: "user.plan", operator: "equals" as const, value: "pro" }] };
const everyone = { conditions: [] };

describe.each(DATABASES)("guide/flags-plan: How it works (%s)", (_name, open) => {
  let host: Host;
  const people: Person[] = [];
  trustedSuite(open, { trusted: TRUSTED }, async (started) => {
    host = started;
    for (let at = 0; at < 8; at++) people.push(await host.person(`user-${at}`));
    for (const { id } of people.slice(0, 3)) await setFields(host, "user", id, { plan: "pro" });
  });

  const make = (fields: object = {}) =>
    host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "string", defaultValue: "no", enabled: true, ...fields },
    });
  const addRule = (flagId: string, fields: object = {}) =>
    host.auth.api.createFeatureFlagRule({
      body: { flagId, priority: 1, conditions: pro, value: "yes", ...fields },
    });

  test("each rule says how many users it decides before and after, and how many of them move", async () => {
    const flag = await make();
    const [gone, kept] = [await addRule(flag.id), await addRule(flag.id, { priority: 2, value: "no" })];
    const { changes } = await host.auth.api.planFeatureFlags({
      body: {
        changes: [
          {
            flagKey: flag.key,
            rules: {
              delete: [gone.id],
              update: [{ id: kept.id, fields: { priority: 9, conditions: everyone } }],
              create: [
                { priority: 1, conditions: { conditions: [], not: pro }, value: "no", percentage: 100 },
              ],
            },
          },
        ],
      },
    });
    const [{ rules = [], moved } = {}] = changes;
    expect(moved).toBe(3);
    expect(rules).toEqual([
      { ruleId: expect.any(String), index: 0, before: 0, after: 5, moved: 0 },
      { ruleId: kept.id, index: 1, before: 0, after: 3, moved: 3 },
      { index: 2, before: 5, after: 0, moved: 0 },
    ]);
  });

  test("a share of the users is the same in the plan and after it", async () => {
    const flag = await make();
    const plan = await host.auth.api.planFeatureFlags({
      body: {
        changes: [
          {
            flagId: flag.id,
            rules: { create: [{ priority: 1, conditions: everyone, value: "yes", percentage: 50 }] },
          },
        ],
      },
    });
    await host.auth.api.applyFeatureFlagPlan({ body: { id: plan.id } });
    const planned = new Set(plan.changes[0]?.examples.map(({ userId }) => userId));
    for (const { id: userId } of people) {
      const { value } = await host.auth.api.evaluateFeatureFlag({
        body: { flagKey: flag.key, context: { userId } },
      });
      expect(value === "yes").toBe(planned.has(userId));
    }
  });

  test("a change of a segment is counted for each flag that uses it, directly or through another", async () => {
    const inner = await host.auth.api.createFeatureFlagSegment({ body: { key: newKey(), conditions: pro } });
    const outer = await host.auth.api.createFeatureFlagSegment({
      body: { key: newKey(), conditions: { conditions: [{ segment: inner.key }] } },
    });
    const [one, two, other] = [await make(), await make(), await make()];
    await addRule(one.id, { conditions: { conditions: [{ segment: inner.key }] } });
    await addRule(two.id, { conditions: { conditions: [{ segment: outer.key }] } });
    await addRule(other.id);
    const plan = await host.auth.api.planFeatureFlags({
      body: { changes: [{ segmentKey: inner.key, fields: { conditions: everyone } }] },
    });
    const moves = [{ from: "no", to: "yes", count: people.length - 3 }];
    expect(plan.changes).toHaveLength(2);
    for (const { key } of [one, two])
      expect(plan.changes).toContainEqual(expect.objectContaining({ flagKey: key, moves }));
    const { flags } = await host.auth.api.applyFeatureFlagPlan({ body: { id: plan.id } });
    expect(flags).toEqual([]);
    const now = await host.auth.api.getFeatureFlagSegment({ params: { id: inner.id } });
    expect(now.conditions).toEqual(everyone);
  });

  test("a plan made while another flag begins to use its segment counts again, and is refused if more users move", async () => {
    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: newKey(), conditions: pro },
    });
    const one = await make();
    await addRule(one.id, { conditions: { conditions: [{ segment: segment.key }] } });
    const plan = await host.auth.api.planFeatureFlags({
      body: { changes: [{ segmentId: segment.id, fields: { conditions: everyone } }] },
    });
    const two = await make();
    await addRule(two.id, { conditions: { conditions: [{ segment: segment.key }] } });
    await expect(host.auth.api.applyFeatureFlagPlan({ body: { id: plan.id } })).rejects.toMatchObject({
      statusCode: 409,
      body: { details: { counts: { now: expect.arrayContaining([expect.anything(), expect.anything()]) } } },
    });
  });

  test("users are evaluated in each of several environments", async () => {
    const flag = await make({ environments: { staging: { defaultValue: "staged" } } });
    const plan = await host.auth.api.planFeatureFlags({
      body: {
        changes: [{ flagId: flag.id, fields: { defaultValue: "new" } }],
        environments: ["staging", "production"],
      },
    });
    expect(plan.changes).toMatchObject([
      { environment: "staging", moved: 0, unchanged: people.length },
      { environment: "production", moved: people.length },
    ]);
    expect(plan).not.toHaveProperty("environment");
  });

  test("the plan of a revert shows who moves back, and that a flag disappears; applying it reverts", async () => {
    const flag = await make();
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: flag.id } });
    const revert = { changeId: entries[0]?.changeId ?? "" };
    const plan = await host.auth.api.planFeatureFlags({ body: { revert } });
    expect(plan.changes).toMatchObject([
      { flagKey: flag.key, removed: true, moves: [{ from: "no", to: null, count: people.length }] },
    ]);
    const applied = await host.auth.api.applyFeatureFlagPlan({ body: { id: plan.id } });
    expect(applied).toEqual({ changeId: plan.id, flags: [] });
    await expect(host.auth.api.getFeatureFlag({ params: { id: flag.id } })).rejects.toMatchObject({
      statusCode: 404,
    });
    const back = await host.auth.api.planFeatureFlags({ body: { revert: { changeId: plan.id } } });
    expect(back.changes).toMatchObject([
      { flagKey: flag.key, created: true, moves: [{ from: null, to: "no", count: people.length }] },
    ]);
  });

  test("a change is reverted as a whole, and refused as a whole with the fields that later changes touched", async () => {
    const flag = await make();
    const rule = await addRule(flag.id);
    const save = async (value: string) => {
      const plan = await host.auth.api.planFeatureFlags({
        body: {
          changes: [
            {
              flagId: flag.id,
              fields: { defaultValue: value },
              rules: { update: [{ id: rule.id, fields: { value } }] },
              overrides: { create: [{ userId: newKey(), value }] },
            },
          ],
        },
      });
      return host.auth.api.applyFeatureFlagPlan({ body: { id: plan.id } });
    };
    const [first, second] = [await save("a"), await save("b")];
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({
      query: { changeId: second.changeId },
    });
    expect(entries.map(({ action }) => action)).toEqual(["override.created", "rule.updated", "flag.updated"]);
    const { changeId } = first;
    await expect(host.auth.api.revertFeatureFlagChange({ body: { changeId } })).rejects.toMatchObject({
      statusCode: 409,
      body: { details: { fields: ["value"] } },
    });
    const reverted = await host.auth.api.revertFeatureFlagChange({ body: { changeId: second.changeId } });
    expect(reverted.flags).toMatchObject([{ id: flag.id, defaultValue: "a" }]);
    const back = await host.auth.api.listFeatureFlagAuditEntries({ query: { changeId: reverted.changeId } });
    expect(back.entries).toHaveLength(3);
    await host.auth.api.revertFeatureFlagChange({ body: { changeId } });
    expect(await host.auth.api.getFeatureFlag({ params: { id: flag.id } })).toMatchObject({
      defaultValue: "no",
    });
  });

  test("of two plans of one field that are applied at the same time, one is made and the other is refused", async () => {
    for (let round = 0; round < 5; round++) {
      const flag = await make();
      const ids: string[] = [];
      for (const defaultValue of ["one", "two"]) {
        const changes = [{ flagId: flag.id, fields: { defaultValue } }];
        ids.push((await host.auth.api.planFeatureFlags({ body: { changes } })).id);
      }
      const settled = await Promise.allSettled(
        ids.map((id) => host.auth.api.applyFeatureFlagPlan({ body: { id } })),
      );
      expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const refused = settled.find((one) => one.status === "rejected");
      expect(refused?.reason).toMatchObject({
        statusCode: 409,
        body: { details: { conflicts: [{ field: "defaultValue", base: "no" }] } },
      });
      expect((await host.auth.api.getFeatureFlag({ params: { id: flag.id } })).version).toBe(2);
    }
  });
});

describe("guide/flags-plan: Previews", () => {
  const preview = (host: Host, as: Person, defaultValue: boolean) =>
    host.call("POST", "/feature-flags/admin/plans", {
      as,
      body: { preview: true, changes: [{ flagKey: "k", fields: { defaultValue } }] },
    });

  test("a preview has the counts of a plan, and stores nothing", async () => {
    const host = await memoryHost();
    const admin = await host.person("admin", "admin");
    await host.createFlag({ key: "k", name: "N", type: "boolean", enabled: true }, admin);
    const { json, status } = await preview(host, admin, true);
    expect(status).toBe(200);
    expect(json).toMatchObject({ users: { total: 1 }, changes: [{ moved: 1 }] });
    expect(json).not.toHaveProperty("id");
    expect(await host.adapter.count({ model: "featureFlagPlan" })).toBe(0);
  });

  test("a newer preview of the same person ends the older one, and leaves other people's previews alone", async () => {
    const host = await memoryHost();
    const [admin, other] = [await host.person("admin", "admin"), await host.person("other", "admin")];
    await host.createFlag({ key: "k", name: "N", type: "boolean", enabled: true }, admin);
    const { adapter } = host;
    const count = adapter.count.bind(adapter);
    const waiting: (() => void)[] = [];
    adapter.count = async (query) => {
      if (query.model === "user") await new Promise<void>((resolve) => waiting.push(resolve));
      return count(query);
    };
    const untilWaiting = (previews: number) =>
      expect.poll(() => waiting.length, { interval: 1 }).toBe(previews);
    const theirs = preview(host, other, true);
    await untilWaiting(1);
    const older = preview(host, admin, true);
    await untilWaiting(2);
    const newer = preview(host, admin, true);
    // Although its users are still being counted.
    expect(await older).toMatchObject({
      status: 409,
      json: { code: "VALIDATION_ERROR", details: { superseded: true } },
    });
    await untilWaiting(3);
    for (const proceed of waiting) proceed();
    expect((await newer).status).toBe(200);
    expect((await theirs).status).toBe(200);
  });

  test("a preview that a newer one ended evaluates no more users", async () => {
    const evaluated: (() => void)[] = [];
    const compute = async () => {
      await new Promise<void>((resolve) => evaluated.push(resolve));
      return { seats: 1 };
    };
    const host = await memoryHost({ flags: { multiTenant: true, trusted: { compute } } });
    const owner = await host.person("owner");
    const conditions = { conditions: [{ attribute: "trusted.seats", operator: "equals", value: 2 }] };
    const flagOf = async (name: string, members: number) => {
      const organizationId = await host.organization(owner, name);
      for (let at = 1; at < members; at++) {
        const data = { name: "N", email: `user-${at}@example.com`, emailVerified: true };
        const { id: userId } = await host.adapter.create<{ id: string }>({ model: "user", data });
        const member = { organizationId, userId, role: "member", createdAt: new Date() };
        await host.adapter.create({ model: "member", data: member });
      }
      const flag = { key: "k", name: "N", type: "boolean", enabled: true, organizationId };
      const { json } = await host.createFlag(flag, owner);
      const body = { priority: 1, conditions, value: true };
      await host.call("POST", `/feature-flags/admin/flags/${json.id}/rules`, { as: owner, body });
      return json.id;
    };
    const [many, few] = [await flagOf("many", 2 * TOGETHER), await flagOf("few", 1)];
    const preview = (flagId: string) =>
      host.call("POST", "/feature-flags/admin/plans", {
        as: owner,
        body: { preview: true, changes: [{ flagId, fields: { defaultValue: true } }] },
      });
    const older = preview(many);
    await expect.poll(() => evaluated.length, { interval: 1 }).toBe(TOGETHER);
    const newer = preview(few);
    expect((await older).status).toBe(409);
    await expect.poll(() => evaluated.length, { interval: 1 }).toBe(TOGETHER + 1);
    for (const proceed of evaluated) proceed();
    expect(await newer).toMatchObject({ status: 200, json: { users: { evaluated: 1 } } });
    await setTimeout(100);
    expect(evaluated).toHaveLength(TOGETHER + 1);
  });
});

/** Users whose `compute` runs at the same time. */
const TOGETHER = 50;

describe("guide/flags-plan: Options", () => {
  test("an environment that is not declared is refused with the names of those that are", async () => {
    const host = await memoryHost({ flags: { environments: { list: ["production", "staging"] } } });
    const admin = await host.person("admin", "admin");
    await host.createFlag({ key: "k", name: "N", type: "boolean", enabled: true }, admin);
    const plan = (named: object) =>
      host.call("POST", "/feature-flags/admin/plans", {
        as: admin,
        body: { ...named, changes: [{ flagKey: "k", fields: { defaultValue: true } }] },
      });
    const message = (path: string, advice: string) =>
      `${path}: environments.list has no such name${advice} (it has production, staging)`;
    expect((await plan({ environments: ["staging", "productoin"] })).json).toMatchObject({
      code: "VALIDATION_ERROR",
      message: expect.stringContaining(message("environments.1", '; did you mean "production"?')),
    });
    expect((await plan({ environment: "qa" })).json.message).toContain(message("environment", ""));
    expect((await plan({ environments: ["staging"] })).status).toBe(200);
  });

  const fields = { defaultValue: "x" };
  const rules = { create: [{ priority: 1, conditions: everyone, value: "x" }] };
  const overrides = { create: [{ userId: "u", value: "x" }] };

  test.each([
    ["fields", { flagKey: "k", fields }, ["update"]],
    ["rules", { flagKey: "k", rules }, ["update"]],
    ["overrides", { flagKey: "k", overrides }, ["override"]],
    ["both", { flagKey: "k", fields, overrides }, ["update", "override"]],
    ["a segment", { segmentKey: "s", fields: { conditions: everyone } }, ["update"]],
  ])("%s need their actions, at the plan and again at its apply", async (_what, change, needed) => {
    const host = await memoryHost();
    const owner = await host.person("owner");
    await host.auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "string", enabled: true, defaultValue: "no" },
    });
    await host.auth.api.createFeatureFlagSegment({ body: { key: "s", conditions: pro } });
    const able = await host.key({ userId: owner.id }, needed);
    const plan = (as: Person) =>
      host.call("POST", "/feature-flags/admin/plans", { as, body: { changes: [change] } });
    const apply = (as: Person, id: string) =>
      host.call("POST", `/feature-flags/admin/plans/${id}/apply`, { as, body: {} });
    const { json, status } = await plan(able);
    expect(status).toBe(200);
    for (const lacking of needed) {
      const others = ["update", "override", "audit"].filter((action) => action !== lacking);
      const unable = await host.key({ userId: owner.id }, others);
      expect((await plan(unable)).status).toBe(403);
      expect((await apply(unable, json.id)).status).toBe(403);
    }
    expect((await apply(able, json.id)).status).toBe(200);
  });

  test("a revert needs audit and what its inverse needs, as a plan, at its apply and by itself", async () => {
    const host = await memoryHost();
    const owner = await host.person("owner");
    const { id: flagId } = await host.auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "string", enabled: true },
    });
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId } });
    const changeId = entries[0]?.changeId ?? "";
    const able = await host.key({ userId: owner.id }, ["audit", "delete"]);
    const plan = (as: Person) =>
      host.call("POST", "/feature-flags/admin/plans", { as, body: { revert: { changeId } } });
    const { json, status } = await plan(able);
    expect(status).toBe(200);
    for (const actions of [
      ["audit", "update"],
      ["delete", "update"],
    ]) {
      const unable = await host.key({ userId: owner.id }, actions);
      expect((await plan(unable)).status).toBe(403);
      const applying = await host.call("POST", `/feature-flags/admin/plans/${json.id}/apply`, {
        as: unable,
        body: {},
      });
      expect(applying.status).toBe(403);
      const reverting = await host.call("POST", `/feature-flags/admin/changes/${changeId}/revert`, {
        as: unable,
        body: {},
      });
      expect(reverting.status).toBe(403);
    }
  });

  test.each([
    ["neither changes nor a revert", {}],
    ["both changes and a revert", { changes: [{ flagKey: "k", fields }], revert: { changeId: "c" } }],
    ["a flag and a segment in one change", { changes: [{ flagKey: "k", segmentKey: "s", fields }] }],
    ["rules of a segment", { changes: [{ segmentKey: "s", fields: {}, rules }] }],
    [
      "a flag id in an override",
      { changes: [{ flagKey: "k", overrides: { create: [{ flagId: "k", userId: "u", value: "x" }] } }] },
    ],
    [
      "two overrides of one user",
      { changes: [{ flagKey: "k", overrides: { create: [...overrides.create, ...overrides.create] } }] },
    ],
    [
      "an empty condition text",
      {
        changes: [
          {
            flagKey: "k",
            rules: {
              create: [
                {
                  priority: 1,
                  conditions: { conditions: [{ attribute: "email", operator: "contains", value: "" }] },
                  value: "x",
                },
              ],
            },
          },
        ],
      },
    ],
    [
      "one environment and several",
      { changes: [{ flagKey: "k", fields }], environment: "a", environments: ["b"] },
    ],
  ])("a plan with %s is refused", async (_what, body) => {
    const host = await memoryHost();
    const admin = await host.person("admin", "admin");
    await host.createFlag({ key: "k", name: "N", type: "string" }, admin);
    await host.auth.api.createFeatureFlagSegment({ body: { key: "s", conditions: everyone } });
    const { status } = await host.call("POST", "/feature-flags/admin/plans", { as: admin, body });
    expect(status).toBe(400);
  });
});
