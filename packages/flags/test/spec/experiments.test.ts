/** Checks which exposures count as subjects of an experiment, and what events are credited to. */
import { runWithTransaction } from "@better-auth/core/context";
import { createServerFlags } from "@halyard/flags";
import { describe, expect, test } from "vitest";
import type { ExposureRow, LinkRow } from "../../src/model/event-rows.ts";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { cookieOf } from "../unusual-callers.ts";
import { experimentsOf, type Flag, only } from "./experiment-helpers.ts";
import { everyone } from "./ways.ts";

let host: Host;
let admin: Person;
let ann: Person;
let bob: Person;
suiteHost({ admin: { allowImpersonatingAdmins: true } }, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
  ann = await host.person("ann");
  bob = await host.person("bob");
});
const { make, statsOf, armsOf, tokenOf, report } = experimentsOf(() => host);

describe("guide/flags-exposures: Subjects", () => {
  const show = (flag: Flag, userId: string, context: object = {}) =>
    host.auth.api.evaluateFeatureFlag({
      body: { flagKey: flag.key, track: true, context: { userId, ...context } },
    });

  test("the arms of a rollout are true and false, for users inside and outside of it", async () => {
    const values = { boolean: false, number: 0, json: null } as const;
    for (const [type, defaultValue] of Object.entries(values)) {
      const flag = await make({ type, defaultValue, variants: undefined, rolloutPercentage: 50 });
      const reasons = { default: 0, percentage_rollout: 0 };
      for (let user = 0; user < 20; user++) {
        reasons[(await show(flag, `u${user}`)).reason as "default"] += 1;
      }
      expect(await armsOf(flag)).toEqual({
        true: `${reasons.percentage_rollout} ${reasons.percentage_rollout} | 0 0`,
        false: `${reasons.default} ${reasons.default} | 0 0`,
      });
    }
  });

  test("overrides, rules, disabled flags and defaults without a rollout are not by chance", async () => {
    const flag = await make({ variants: only("a") });
    await host.auth.api.createFeatureFlagRule({
      body: {
        flagId: flag.id,
        priority: 1,
        conditions: { conditions: [{ attribute: "plan", operator: "equals", value: "pro" }] },
        variant: "a",
      },
    });
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: "special", value: "A", variant: "a" },
    });
    await show(flag, "special");
    await show(flag, "ruled", { attributes: { plan: "pro" } });
    await show(flag, "by-chance");
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 2 2" });
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, enabled: false } });
    await show(flag, "too-late");
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 2 2", false: "0 0 | 1 1" });
    const plain = await make({ variants: undefined, type: "boolean", defaultValue: true });
    await show(plain, "anyone");
    expect(await armsOf(plain)).toEqual({ true: "0 0 | 1 1" });
    expect((await statsOf(plain)).uniqueUsers).toBe(1);
  });

  test("impersonated sessions, evaluate-as and ids claimed without a session are not subjects", async () => {
    const flag = await make({ variants: only("a") });
    const body = { flagKey: flag.key, track: true };
    const { headers } = await host.auth.api.impersonateUser({
      body: { userId: ann.id },
      headers: new Headers(admin.headers),
      returnHeaders: true,
    });
    const impersonated: Person = { ...ann, headers: { cookie: cookieOf(headers.getSetCookie()) } };
    expect(
      (await host.evaluate({ ...body, contextInResponse: true }, impersonated)).json.context.userId,
    ).toBe(ann.id);
    await host.evaluate({ ...body, context: { userId: "another" } }, admin);
    await host.evaluate({ ...body, context: { userId: "claimed" } });
    const path = `/feature-flags/admin/flags/${flag.id}/explain`;
    await host.call("POST", path, { as: admin, body: { context: { userId: "explained" } } });
    expect(await armsOf(flag)).toEqual({ a: "0 0 | 3 3" });
    // Tokens say the same.
    const tokens = [
      [await tokenOf(flag, impersonated), impersonated],
      [await tokenOf(flag, undefined, { userId: "claimed" }), undefined],
    ] as const;
    for (const [token, as] of tokens) expect((await report([token], as)).success).toBe(1);
    expect(await armsOf(flag)).toEqual({ a: "0 0 | 3 3" });
    await host.evaluate(body, bob);
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 3 3" });
  });

  test("an evaluation as another user has no subject, though the caller's own ids are in it", async () => {
    const own = await memoryHost({
      fields: { user: { plan: { type: "string", required: false, input: false } } },
      flags: { multiTenant: true, trusted: { user: ["plan"] } },
    });
    const [app, owner] = [await own.person("app", "admin"), await own.person("owner")];
    await own.organization(owner, "shop");
    const flag = await make({ variants: only("a"), organizationId: "" }, own);
    const body = { flagKey: flag.key, track: true };
    const send = (as: Person) =>
      own.request(
        "/feature-flags/events",
        { flagKey: flag.key, event: "buy", context: contexts.get(as) },
        as.headers,
      );
    // The owner's grant ends with the organization, so global flags are evaluated for the owner.
    const contexts = new Map<Person, object>([
      [owner, { userId: "member" }],
      [app, { userId: app.id, email: app.email, role: "admin", user: { plan: "pro" } }],
    ]);
    for (const [as, context] of contexts) {
      const { status, text } = await own.evaluate({ ...body, context }, as);
      expect(status, text).toBe(200);
      expect((await send(as)).status).toBe(200);
    }
    expect(await armsOf(flag, own)).toEqual({ a: "0 0 | 2 2", "": "0 0 | 0 0" });
    for (const as of contexts.keys()) await own.evaluate(body, as);
    expect(await armsOf(flag, own)).toMatchObject({ a: "2 2 | 2 2" });
    const { byVariant } = await statsOf(flag, own);
    expect(byVariant[""]?.events["buy"]).toMatchObject({ count: 2, uniqueConverters: 0 });
  });

  test("visitors without the id of the flag's unit are one cohort, and not subjects", async () => {
    const byUser = await make({ variants: only("a") });
    const byVisitor = await make({ variants: only("a"), bucketBy: "anonymousId" });
    for (const anonymousId of ["v1", "v2"]) {
      for (const { key } of [byUser, byVisitor]) {
        await host.evaluate({ flagKey: key, track: true, context: { anonymousId } });
      }
    }
    expect(await armsOf(byUser)).toEqual({ a: "0 0 | 2 2" });
    expect(await armsOf(byVisitor)).toEqual({ a: "2 2 | 0 0" });
  });

  test("subjects are organizations or values of an attribute if the flag is bucketed by them", async () => {
    const byPlan = await make({ variants: only("a"), bucketBy: "attributes.account" });
    const byOrganization = await make({ variants: only("a"), bucketBy: "organizationId" });
    for (const user of ["u1", "u2", "u3"]) {
      const account = user === "u3" ? "big secret" : "shared";
      await show(byPlan, user, { attributes: { account } });
      await show(byOrganization, user, { organizationId: account });
      await host.auth.api.createFeatureFlagEvent({
        body: { flagKey: byPlan.key, event: "buy", context: { attributes: { account } } },
      });
    }
    expect(await armsOf(byPlan)).toEqual({ a: "2 2 | 0 0" });
    expect(await armsOf(byOrganization)).toEqual({ a: "2 2 | 0 0" });
    expect((await statsOf(byPlan)).byVariant["a"]?.events["buy"]).toMatchObject({
      count: 3,
      uniqueConverters: 2,
    });
    const rows = await host.adapter.findMany<ExposureRow>({
      model: "featureFlagExposure",
      where: [{ field: "flagId", value: byPlan.id }],
    });
    expect(JSON.stringify(rows)).not.toContain("secret");
    // An organization that is claimed without a session is not a subject.
    await host.evaluate({ flagKey: byOrganization.key, track: true, context: { organizationId: "claimed" } });
    expect(await armsOf(byOrganization)).toEqual({ a: "2 2 | 1 1" });
  });

  test("server code records exposures of its reads with track, and none without", async () => {
    const [tracked, silent] = [await make({ variants: only("a") }), await make({ variants: only("a") })];
    const flags = createServerFlags(host.auth);
    const headers = new Headers(ann.headers);
    expect(await flags.getVariant(tracked.key, { headers, track: true })).toBe("a");
    for (const userId of ["s1", "s2"]) {
      const context = { userId };
      await flags.getVariant(tracked.key, { context, track: true });
      await flags.getValue(tracked.key, { context, track: true }, "none");
      await flags.getVariant(silent.key, { context });
    }
    expect([await armsOf(tracked), await armsOf(silent)]).toEqual([{ a: "3 3 | 0 0" }, {}]);
  });
});

describe("guide/flags-exposures: Credit", () => {
  test("an event is credited to the first exposure of its subject, and to none without one", async () => {
    const flag = await make({ variants: only("a") });
    const buy = (as?: Person, context?: object) =>
      host.request(
        "/feature-flags/events",
        { flagKey: flag.key, event: "buy", value: 2, context },
        as?.headers,
      );
    await host.evaluate({ flagKey: flag.key, track: true }, ann);
    await statsOf(flag);
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, variants: only("b") } });
    for (const as of [ann, bob]) await host.evaluate({ flagKey: flag.key, track: true }, as);
    await Promise.all([buy(ann), buy(ann), buy(bob), buy(admin), buy()]);
    // Recorded for a user by a caller who cannot be that user.
    await buy(admin, { userId: ann.id });
    await buy(undefined, { userId: ann.id });
    const { byVariant } = await statsOf(flag);
    const bought = (arm: string) => byVariant[arm]?.events["buy"];
    expect(bought("a")).toEqual({ count: 2, sum: 4, mean: 2, uniqueConverters: 1 });
    expect(bought("b")).toMatchObject({ count: 1, uniqueConverters: 1 });
    expect(bought("")).toMatchObject({ count: 4, uniqueConverters: 1 });
  });

  test("events of users who did not get their arm by chance are apart", async () => {
    const flag = await make({ variants: only("a") });
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: everyone, variant: "a" },
    });
    await host.evaluate({ flagKey: flag.key, track: true }, ann);
    await host.request("/feature-flags/events", { flagKey: flag.key, event: "buy" }, ann.headers);
    expect((await statsOf(flag)).byVariant).toEqual({
      a: {
        exposures: 0,
        uniqueUsers: 0,
        events: {},
        excluded: {
          exposures: 1,
          uniqueUsers: 1,
          events: { buy: { count: 1, sum: 0, mean: 0, uniqueConverters: 1 } },
        },
      },
    });
  });

  test("a sign-in links the visitor's id in the cookie to the user, the first time", async () => {
    const anonymousId = crypto.randomUUID();
    const links = () =>
      host.adapter.findMany<LinkRow>({
        model: "featureFlagLink",
        where: [{ field: "anonymousId", value: anonymousId }],
      });
    const byUser = await make({ variants: only("a") });
    const byVisitor = await make({ variants: only("a"), bucketBy: "anonymousId" });
    const context = { anonymousId };
    for (const { key } of [byUser, byVisitor]) {
      await host.evaluate({ flagKey: key, track: true, context });
      await host.request("/feature-flags/events", { flagKey: key, event: "before", context });
    }
    const signIn = ({ email }: Person) =>
      host.call("POST", "/sign-in/email", {
        body: { email, password: "correct horse battery" },
        headers: { cookie: `other=1; halyard_anonymous_id=${anonymousId}` },
      });
    for (const person of [ann, bob]) expect((await signIn(person)).status).toBe(200);
    await host.evaluate({ flagKey: byUser.key, track: true, context }, ann);
    // A webhook of the shop knows the user only.
    for (const { key: flagKey } of [byUser, byVisitor]) {
      const body = { flagKey, event: "paid", context: { userId: ann.id } };
      await host.auth.api.createFeatureFlagEvent({ body });
    }
    const converters = async (flag: Flag) =>
      Object.entries((await statsOf(flag)).byVariant["a"]?.events ?? {}).map(
        ([name, { count, uniqueConverters }]) => `${name} ${count} ${uniqueConverters}`,
      );
    expect((await converters(byUser)).sort()).toEqual(["before 1 1", "paid 1 1"]);
    expect((await converters(byVisitor)).sort()).toEqual(["before 1 1", "paid 1 1"]);
    expect((await links()).map(({ userId }) => userId)).toEqual([ann.id]);
    // The visitor before the sign-in and the user are one person.
    expect([(await statsOf(byUser)).uniqueUsers, await armsOf(byUser)]).toEqual([1, { a: "1 1 | 1 1" }]);
  });
});

describe("guide/flags-statistics: Statistics of a flag (lives)", () => {
  test("a flag has its own statistics, not those of a deleted flag with the same key", async () => {
    const own = await memoryHost();
    const { api } = own.auth;
    const [first, other] = [await make({ variants: only("a") }, own), await make({}, own)];
    const { key } = first;
    for (let user = 0; user < 5; user++) {
      const context = { userId: `u${user}` };
      await api.evaluateFeatureFlag({ body: { flagKey: key, track: true, context } });
      await api.createFeatureFlagEvent({ body: { flagKey: key, event: "buy", context } });
    }
    const figures = async (flag: Flag) => {
      const { evaluations, uniqueUsers, byVariant } = await statsOf(flag, own);
      return [evaluations, uniqueUsers, Object.keys(byVariant).length];
    };
    expect(await figures(first)).toEqual([5, 5, 1]);
    await api.deleteFeatureFlag({ body: { id: first.id } });
    await api.updateFeatureFlag({ body: { id: other.id, key } });
    expect(await figures(other)).toEqual([0, 0, 0]);
    await api.updateFeatureFlag({ body: { id: other.id, key: newKey() } });
    const again = await make({ key }, own);
    expect(await figures(again)).toEqual([0, 0, 0]);
    const { flags } = await api.listFeatureFlags({ query: { include: "stats", prefix: key } });
    expect(flags[0]?.stats).toEqual({ evaluations: 0, uniqueUsers: 0 });
    const models = ["Exposure", "Event", "EventCount", "EvaluationCount"];
    const left = await Promise.all(models.map((name) => own.adapter.count({ model: `featureFlag${name}` })));
    expect(left).toEqual([0, 0, 0, 0]);
  });

  test("a flag keeps its statistics if the transaction that deletes it is rolled back", async () => {
    const own = await memoryHost();
    const { api } = own.auth;
    const [kept, deleted] = [
      await make({ variants: only("a") }, own),
      await make({ variants: only("a") }, own),
    ];
    for (const { key } of [kept, deleted]) {
      await api.evaluateFeatureFlag({ body: { flagKey: key, track: true, context: { userId: "u" } } });
    }
    expect([await armsOf(kept, own), await armsOf(deleted, own)]).toEqual([
      { a: "1 1 | 0 0" },
      { a: "1 1 | 0 0" },
    ]);
    const undone = runWithTransaction(own.adapter, async () => {
      await api.deleteFeatureFlag({ body: { id: kept.id } });
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    await runWithTransaction(own.adapter, () => api.deleteFeatureFlag({ body: { id: deleted.id } }));
    const rows = async ({ id }: Flag) =>
      own.adapter.count({ model: "featureFlagExposure", where: [{ field: "flagId", value: id }] });
    await expect.poll(() => rows(deleted)).toBe(0);
    expect(await rows(kept)).toBe(1);
    expect(await armsOf(kept, own)).toEqual({ a: "1 1 | 0 0" });
  });
});
