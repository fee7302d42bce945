/** Checks exposure tokens, which exposures count as subjects of an experiment, and what events are credited to. */
import { createServerFlags } from "@halyard/flags";
import { describe, expect, test, vi } from "vitest";
import type { ExposureRow, LinkRow } from "../../src/model/event-rows.ts";
import { type Host, type Person, startHost } from "../host.ts";
import { memoryDatabase, memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { cookieOf } from "../unusual-callers.ts";
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

const HOUR_MS = 3_600_000;
const REPORT = "/feature-flags/exposures";
const VARIANTS = [
  { key: "a", weight: 50, value: "A" },
  { key: "b", weight: 50, value: "B" },
];
const only = (key: string) => [{ key, weight: 100, value: key.toUpperCase() }];

const make = (fields: object = {}, on: Host = host) =>
  on.auth.api.createFeatureFlag({
    body: {
      key: newKey(),
      name: "N",
      type: "string",
      enabled: true,
      defaultValue: "d",
      variants: VARIANTS,
      ...fields,
    },
  });
type Flag = Awaited<ReturnType<typeof make>>;

const statsOf = async ({ id }: Flag, on: Host = host) => on.auth.api.getFeatureFlagStats({ params: { id } });
/** Exposures and users by arm; those of users who did not get it by chance after a bar. */
async function armsOf(flag: Flag, on: Host = host): Promise<Record<string, string>> {
  const { byVariant } = await statsOf(flag, on);
  return Object.fromEntries(
    Object.entries(byVariant).map(([arm, { exposures, uniqueUsers, excluded }]) => [
      arm,
      `${exposures} ${uniqueUsers} | ${excluded?.exposures ?? 0} ${excluded?.uniqueUsers ?? 0}`,
    ]),
  );
}
/** The token of the flag for this person. */
async function tokenOf({ key }: Flag, as?: Person, context?: object, on: Host = host): Promise<string> {
  const { status, text, json } = await on.evaluate({ flagKey: key, exposures: true, context }, as);
  expect(status, text).toBe(200);
  expect(Object.keys(json.exposures)).toEqual([key]);
  return json.exposures[key];
}
const report = async (tokens: unknown[], as?: Person, on: Host = host) =>
  (await on.request(REPORT, { exposures: tokens }, as?.headers)).json;

describe("guide/flags-exposures: Tokens", () => {
  test("a response has tokens if the request asks for them, of flags with variants or a rollout", async () => {
    const prefix = newKey("tokens");
    await make({ key: `${prefix}-variants` });
    await make({ key: `${prefix}-rollout`, variants: undefined, rolloutPercentage: 10 });
    const environments = { beta: { rolloutPercentage: 10 } };
    await make({ key: `${prefix}-environment`, variants: undefined, environments });
    await make({ key: `${prefix}-plain`, variants: undefined });
    const keys = ["environment", "rollout", "variants"].map((name) => `${prefix}-${name}`);
    const flagKeys = [...keys, `${prefix}-plain`, "missing"];
    const bodies = {
      "evaluate-batch": { flagKeys },
      bootstrap: { prefix },
      evaluate: { flagKey: keys[0] },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const without = await host.request(`/feature-flags/${path}`, { ...body, exposures: false });
      expect(without.json).not.toHaveProperty("exposures");
      for (const select of ["full", "value", []]) {
        const { json } = await host.request(`/feature-flags/${path}`, { ...body, exposures: true, select });
        expect(Object.keys(json.exposures).sort()).toEqual(path === "evaluate" ? [keys[0]] : keys);
      }
    }
    const plain = await host.evaluate({ flagKey: `${prefix}-plain`, exposures: true });
    expect(plain.json.exposures).toEqual({});
  });

  test("a reported token counts the arm that was shown, though the flag has changed since", async () => {
    const flag = await make({ variants: only("a") });
    const token = await tokenOf(flag, ann);
    await tokenOf(flag, bob);
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, variants: only("b") } });
    expect(await armsOf(flag)).toEqual({});
    expect(await report([token], ann)).toEqual({ success: 1, failed: 0 });
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });

  test("a token counts once, however often and in whatever order it is reported", async () => {
    const flag = await make({ variants: only("a") });
    const tokens = [await tokenOf(flag, ann), await tokenOf(flag, ann)];
    for (let round = 0; round < 3; round++) {
      expect(await report([...tokens, ...tokens].reverse(), ann)).toEqual({ success: 4, failed: 0 });
    }
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });

  test("forged, foreign and other invalid tokens fail, and do not fail the others", async () => {
    const flag = await make({ variants: only("a") });
    const [mine, theirs] = [await tokenOf(flag, ann), await tokenOf(flag, bob)];
    const other = await memoryHost({ auth: { secret: "another secret, as long as a secret has to be" } });
    const foreign = await tokenOf(await make({ key: flag.key }, other), undefined, undefined, other);
    const deleted = await make();
    const stale = await tokenOf(deleted, ann);
    await host.auth.api.deleteFeatureFlag({ body: { id: deleted.id } });
    const bad = [theirs, foreign, stale, `${mine}A`, mine.slice(1), "", "token", 7, null, [mine], { mine }];
    expect(await report([...bad, mine], ann)).toEqual({ success: 1, failed: bad.length });
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });

  test("a visitor who has signed in since reports the token of before, and so does one who has signed out", async () => {
    const flag = await make({ variants: only("a"), bucketBy: "anonymousId" });
    const before = await tokenOf(flag, undefined, { anonymousId: "v1" });
    const after = await tokenOf(flag, bob, { anonymousId: "v2" });
    expect(await report([before], ann)).toEqual({ success: 1, failed: 0 });
    expect(await report([after])).toEqual({ success: 1, failed: 0 });
    expect(await armsOf(flag)).toEqual({ a: "2 2 | 0 0" });
  });

  test("a token is valid for 24 hours, and counts at the time of its evaluation", async () => {
    const own = await memoryHost();
    const flag = await make({ variants: only("a"), bucketBy: "anonymousId" }, own);
    const context = { anonymousId: "v" };
    const [token, late] = [
      await tokenOf(flag, undefined, context, own),
      await tokenOf(flag, undefined, context, own),
    ];
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    try {
      vi.setSystemTime(now + 24 * HOUR_MS - 60_000);
      expect(await report([token], undefined, own)).toEqual({ success: 1, failed: 0 });
      vi.setSystemTime(now + 24 * HOUR_MS);
      expect(await report([late], undefined, own)).toEqual({ success: 0, failed: 1 });
      const end = new Date(now + 60_000).toISOString();
      const stats = await own.auth.api.getFeatureFlagStats({ params: { id: flag.id }, query: { end } });
      expect(stats.byVariant["a"]?.exposures).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a token of a previous secret is accepted after the secret was changed", async () => {
    const database = memoryDatabase();
    const [one, two] = ["first secret", "second secret"].map(
      (name) => `${name}, as long as a secret has to be`,
    ) as [string, string];
    const before = await startHost({ database, auth: { secrets: [{ version: 1, value: one }] } });
    const flag = await make({ variants: only("a"), bucketBy: "anonymousId" }, before);
    const token = await tokenOf(flag, undefined, { anonymousId: "v" }, before);
    await before.close();
    const secrets = [
      { version: 2, value: two },
      { version: 1, value: one },
    ];
    const after = await startHost({ database, migrate: false, auth: { secrets } });
    expect(await report([token], undefined, after)).toEqual({ success: 1, failed: 0 });
    await after.close();
  });

  test("a report has 1 to 1,000 tokens, else it is 400", async () => {
    const flag = await make();
    const token = await tokenOf(flag, ann);
    for (const body of [{}, { exposures: [] }, { exposures: token }, { exposures: { [flag.key]: token } }]) {
      const { status, json } = await host.request(REPORT, body, ann.headers);
      expect([status, json.code]).toEqual([400, "VALIDATION_ERROR"]);
    }
    const many = await host.request(REPORT, { exposures: Array(1001).fill("x") }, ann.headers);
    expect([many.status, many.json.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(many.json.details.limit).toBe(1000);
    const full = { exposures: Array.from({ length: 1000 }, () => "x".repeat(250)) };
    expect((await host.request(REPORT, full, ann.headers)).json).toEqual({ success: 0, failed: 1000 });
  });

  test("server code reports tokens without headers", async () => {
    const flag = await make({ variants: only("a") });
    const token = await tokenOf(flag, ann);
    const body = { exposures: [token] };
    expect(await host.auth.api.createFeatureFlagExposures({ body })).toEqual({ success: 1, failed: 0 });
    expect(await armsOf(flag)).toEqual({ a: "1 1 | 0 0" });
  });
});

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
});
