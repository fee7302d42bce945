/** Checks plans: which users a change reaches, and that applying one is refused after a drift. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey } from "../memory-host.ts";
import { DATABASES, FIELDS, setFields, TRUSTED, trustedSuite } from "../trusted-host.ts";

const proOnly = { conditions: [{ attribute: "user.plan", operator: "equals" as const, value: "pro" }] };

describe.each(DATABASES)("guide/flags-plan: How it works (%s)", (_name, open) => {
  let host: Host;
  let admin: Person;
  const people: Person[] = [];
  trustedSuite(open, { trusted: TRUSTED }, async (started) => {
    host = started;
    admin = await host.person("admin", "admin");
    for (let at = 0; at < 9; at++) people.push(await host.person(`user-${at}`));
    for (const { id } of people.slice(0, 3)) await setFields(host, "user", id, { plan: "pro" });
  });

  const make = (fields: object = {}) =>
    host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "string", defaultValue: "no", enabled: true, ...fields },
    });

  test("a plan counts users by the value that they have and the value that they would get", async () => {
    const flag = await make({ offValue: "off" });
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: proOnly, value: "yes" },
    });
    const plan = await host.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: flag.key, fields: { enabled: false } }] },
    });
    expect(plan).toMatchObject({
      users: { total: 10, evaluated: 10, sampled: false },
      onlineSource: "none",
      changes: [
        {
          flagId: flag.id,
          version: 1,
          moves: [
            { from: "no", to: "off", count: 7 },
            { from: "yes", to: "off", count: 3 },
          ],
          moved: 10,
          unchanged: 0,
          unknown: 0,
          online: 0,
          values: [
            { value: "off", before: 0, after: 10 },
            { value: "no", before: 7, after: 0 },
            { value: "yes", before: 3, after: 0 },
          ],
        },
      ],
    });
    // Nothing was changed.
    expect((await host.auth.api.getFeatureFlag({ params: { id: flag.id } })).version).toBe(1);
  });

  test("an override keeps its user where it is", async () => {
    const flag = await make();
    const [first] = people;
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: first?.id ?? "", value: "mine" },
    });
    const plan = await host.auth.api.planFeatureFlags({
      body: { changes: [{ flagId: flag.id, fields: { defaultValue: "new" } }] },
    });
    expect(plan.changes).toMatchObject([{ moves: [{ from: "no", to: "new", count: 9 }], unchanged: 1 }]);
  });

  test.each([
    ["a free attribute", "beta"],
    ["the device", "device.type"],
    ["the session", "session.channel"],
    ["the active organization", "organizationId"],
  ])("users whose value depends on %s are counted as unknown", async (_what, attribute) => {
    const flag = await make({ enabled: false });
    const conditions = { conditions: [{ attribute, operator: "equals" as const, value: "x" }] };
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions, value: "yes" },
    });
    const plan = await host.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: flag.key, fields: { enabled: true } }] },
    });
    expect(plan.changes).toMatchObject([{ moves: [], unknown: 10, unchanged: 0 }]);
  });

  test("a user who is decided before a claimed attribute is read is not unknown", async () => {
    const flag = await make({ enabled: false });
    const beta = { attribute: "beta", operator: "equals" as const, value: true };
    const conditions = { conditions: [...proOnly.conditions, beta] };
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions, value: "yes" },
    });
    const plan = await host.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: flag.key, fields: { enabled: true, defaultValue: "on" } }] },
    });
    expect(plan.changes).toMatchObject([{ moves: [{ from: "no", to: "on", count: 7 }], unknown: 3 }]);
  });

  test("applying a plan makes all its changes, once", async () => {
    const [one, two] = [await make(), await make()];
    const { id } = await host.auth.api.planFeatureFlags({
      body: {
        changes: [
          { flagKey: one.key, fields: { defaultValue: "a" } },
          { flagKey: two.key, fields: { rolloutPercentage: 5 } },
        ],
      },
    });
    const answer = await host.call("POST", `/feature-flags/admin/plans/${id}/apply`, { as: admin, body: {} });
    expect(answer.json.flags).toMatchObject([
      { key: one.key, defaultValue: "a", version: 2 },
      { key: two.key, rolloutPercentage: 5, version: 2 },
    ]);
    const again = host.auth.api.applyFeatureFlagPlan({ body: { id } });
    await expect(again).rejects.toMatchObject({ statusCode: 404 });
  });

  test("a plan is never applied after a change of a rule, even if both happen at the same time", async () => {
    for (let round = 0; round < 6; round++) {
      const flag = await make();
      const rule = await host.auth.api.createFeatureFlagRule({
        body: { flagId: flag.id, priority: 1, conditions: proOnly, value: "yes" },
      });
      const { id } = await host.auth.api.planFeatureFlags({
        body: { changes: [{ flagKey: flag.key, fields: { enabled: false } }] },
      });
      const applying = host.auth.api.applyFeatureFlagPlan({ body: { id } }).then(
        () => true,
        () => false,
      );
      // Each round begins the change a little later.
      for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
      const changing = host.auth.api.updateFeatureFlagRule({
        body: { flagId: flag.id, ruleId: rule.id, value: "other" },
      });
      const [isApplied] = await Promise.all([applying, changing]);
      const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: flag.id } });
      // Newest first.
      const actions = entries.map(({ action }) => action).filter((action) => action.endsWith("updated"));
      expect(actions).toEqual(isApplied ? ["rule.updated", "flag.updated"] : ["rule.updated"]);
    }
  });

  test("a plan whose users move differently after a change of a rule or of a segment is refused with both counts", async () => {
    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: newKey(), conditions: proOnly },
    });
    const conditions = { conditions: [{ segment: segment.key }] };
    const drifts: ((flagId: string, ruleId: string) => Promise<unknown>)[] = [
      (flagId, ruleId) => host.auth.api.updateFeatureFlagRule({ body: { flagId, ruleId, value: "other" } }),
      () =>
        host.auth.api.updateFeatureFlagSegment({ body: { id: segment.id, conditions: { conditions: [] } } }),
    ];
    for (const drift of drifts) {
      const flag = await make({ offValue: "off" });
      const rule = await host.auth.api.createFeatureFlagRule({
        body: { flagId: flag.id, priority: 1, conditions, value: "yes" },
      });
      const plan = await host.auth.api.planFeatureFlags({
        body: { changes: [{ flagKey: flag.key, fields: { enabled: false } }] },
      });
      await drift(flag.id, rule.id);
      const applying = host.auth.api.applyFeatureFlagPlan({ params: { id: plan.id } });
      const planned = plan.changes.map(({ moves }) => ({ moves }));
      await expect(applying).rejects.toMatchObject({
        statusCode: 409,
        body: { details: { counts: { planned, now: expect.not.arrayContaining(planned) } } },
      });
      expect((await host.auth.api.getFeatureFlag({ params: { id: flag.id } })).enabled).toBe(true);
    }
  });

  test("a plan is applied after changes that leave its users where they are", async () => {
    const flag = await make({ offValue: "off" });
    const rule = await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: proOnly, value: "yes" },
    });
    const { id } = await host.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: flag.key, fields: { enabled: false } }] },
    });
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, name: "Other", metadata: { by: "them" } } });
    await host.auth.api.updateFeatureFlagRule({
      body: { flagId: flag.id, ruleId: rule.id, name: "Other", priority: 5 },
    });
    const { flags } = await host.auth.api.applyFeatureFlagPlan({ params: { id } });
    expect(flags).toMatchObject([{ name: "Other", metadata: { by: "them" }, enabled: false }]);
  });
});

describe("guide/flags-plan: Bounds", () => {
  test("other requests are served while a plan evaluates expensive flags", async () => {
    const host = await memoryHost({ ...FIELDS, flags: { trusted: TRUSTED } });
    for (let at = 0; at < 48; at++) {
      const email = `user-${at}@example.com`;
      const data = { name: "N", email, emailVerified: true, createdAt: new Date(), updatedAt: new Date() };
      await host.adapter.create({ model: "user", data: { ...data, plan: "a".repeat(4_096) } });
    }
    const flag = await host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "boolean", enabled: true, offValue: false },
    });
    const search = { attribute: "user.plan", operator: "contains", value: `${"a".repeat(255)}b` } as const;
    await host.auth.api.createFeatureFlagRule({
      body: {
        flagId: flag.id,
        priority: 1,
        conditions: { conditions: Array(45).fill(search), operator: "OR" },
        value: true,
      },
    });
    // Counted, not timed: a busy machine makes each turn longer, but not rarer.
    let turns = 0;
    const clock = setInterval(() => (turns += 1), 1);
    const { users } = await host.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: flag.key, fields: { name: "M" } }] },
    });
    clearInterval(clock);
    expect(users.total).toBe(48);
    expect(turns).toBeGreaterThan(6);
  });
});

describe("guide/flags-plan: Options", () => {
  test("online says how many of the moved users are connected, and a failing source makes it unknown", async () => {
    let isDown = false;
    const online = new Set<string>();
    const host = await memoryHost({
      flags: {
        online: (ids) => {
          if (isDown) throw new Error("down");
          return ids.filter((id) => online.has(id));
        },
      },
    });
    const people = [await host.person("one"), await host.person("two"), await host.person("three")];
    for (const { id } of people.slice(0, 2)) online.add(id);
    online.add("a user who does not move");
    const flag = await host.auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", enabled: true, defaultValue: false },
    });
    const plan = () =>
      host.auth.api.planFeatureFlags({
        body: { changes: [{ flagId: flag.id, fields: { defaultValue: true } }] },
      });
    expect(await plan()).toMatchObject({ onlineSource: "live", changes: [{ moved: 3, online: 2 }] });
    isDown = true;
    expect(await plan()).toMatchObject({ onlineSource: "none", changes: [{ moved: 3, online: 0 }] });
  });

  test("what an organization may replace is counted again for its own flag, and moves no user of the global one", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const owner = await host.person("owner");
    const organizationId = await host.organization(owner, "acme");
    const { api } = host.auth;
    const body = { key: "k", name: "N", type: "boolean", enabled: true, defaultValue: false } as const;
    const global = await api.createFeatureFlag({
      body: { ...body, tenantOverridable: true, organizationId: "" },
    });
    const own = await api.createFeatureFlag({ body: { ...body, organizationId } });
    const plan = (flagId: string) =>
      api.planFeatureFlags({ body: { changes: [{ flagId, fields: { defaultValue: true } }] } });
    const [ofGlobal, ofOwn] = [await plan(global.id), await plan(own.id)];
    expect([ofGlobal, ofOwn].map(({ changes }) => changes[0]?.moved)).toEqual([1, 1]);
    await api.updateFeatureFlag({ body: { id: global.id, tenantOverridable: false } });
    await expect(api.applyFeatureFlagPlan({ body: { id: ofOwn.id } })).rejects.toMatchObject({
      statusCode: 409,
      body: { details: { counts: { now: [{ ignored: true, moved: 0 }] } } },
    });
    expect(await api.applyFeatureFlagPlan({ body: { id: ofGlobal.id } })).toMatchObject({
      flags: [{ defaultValue: true, tenantOverridable: false }],
    });
  });

  test("with organizations a plan covers the members only, with their role in the organization", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const [owner, member, stranger] = [
      await host.person("owner"),
      await host.person("member"),
      await host.person("stranger"),
    ];
    const organizationId = await host.organization(owner, "acme");
    await host.join(member, organizationId);
    const made = await host.createFlag(
      { key: "k", name: "N", type: "string", enabled: true, defaultValue: "all", organizationId },
      owner,
    );
    const conditions = {
      conditions: [{ attribute: "organizationRole", operator: "equals", value: "owner" }],
    };
    await host.call("POST", `/feature-flags/admin/flags/${made.json.id}/rules`, {
      as: owner,
      body: { priority: 1, conditions, value: "owner" },
    });
    const body = { changes: [{ flagKey: "k", fields: { enabled: false, offValue: "off" } }] };
    const plan = await host.call("POST", "/feature-flags/admin/plans", { as: owner, body });
    expect(plan.json).toMatchObject({
      organizationId,
      users: { total: 2 },
      changes: [
        {
          moves: expect.arrayContaining([
            { from: "all", to: "off", count: 1 },
            { from: "owner", to: "off", count: 1 },
          ]),
          unknown: 0,
        },
      ],
    });
    expect(plan.text).toContain(member.email);
    expect(plan.text).not.toContain(stranger.id);
    const refused = await host.call("POST", "/feature-flags/admin/plans", { as: stranger, body });
    expect(refused.status).toBe(404);
  });

  test("examples name users only for callers who may evaluate as them", async () => {
    const host = await memoryHost();
    const owner = await host.person("owner");
    const flag = await host.auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", enabled: true, defaultValue: false },
    });
    const body = { changes: [{ flagId: flag.id, fields: { defaultValue: true } }] };
    const plan = async (actions: readonly string[]) =>
      host.call("POST", "/feature-flags/admin/plans", {
        as: await host.key({ userId: owner.id }, actions),
        body,
      });
    expect((await plan(["update"])).json.changes[0].examples).toEqual([
      { userId: owner.id, from: false, to: true },
    ]);
    expect((await plan(["update", "evaluate-as"])).json.changes[0].examples[0].email).toBe(owner.email);
  });

  test.each([
    ["no change", { changes: [] }],
    ["a change without a flag", { changes: [{ fields: {} }] }],
    ["a flag by key and by id", { changes: [{ flagKey: "k", flagId: "k", fields: {} }] }],
    ["the same flag twice", { changes: [1, 2].map(() => ({ flagKey: "k", fields: {} })) }],
    ["a value that does not fit", { changes: [{ flagKey: "k", fields: { defaultValue: 5 } }] }],
    [
      "one new key for two flags",
      { changes: ["k", "l"].map((flagKey) => ({ flagKey, fields: { key: "m" } })) },
    ],
    ["an unknown field", { changes: [{ flagKey: "k", fields: { colour: "red" } }] }],
  ])("a plan with %s is refused", async (_what, body) => {
    const host = await memoryHost();
    const admin = await host.person("admin", "admin");
    for (const key of ["k", "l"]) await host.createFlag({ key, name: "N", type: "string" }, admin);
    const { status } = await host.call("POST", "/feature-flags/admin/plans", { as: admin, body });
    expect(status).toBe(400);
  });
});
