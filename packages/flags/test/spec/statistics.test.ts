/** Checks the statistics of a flag and of all flags, and what they count. */
import { describe, expect, test } from "vitest";
import { type Answer, type Host, type Person, startHost } from "../host.ts";
import { memoryDatabase, memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { everyone, WAYS, type Way, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const at = (ms: number) => new Date(Date.now() + ms).toISOString();
const thisHour = () => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString();

const make = async (fields: object = {}) =>
  (
    await host.createFlag(
      { key: newKey(), name: "N", type: "string", enabled: true, defaultValue: "d", ...fields },
      admin,
    )
  ).json;
const isRefused = (answer: Answer, status: number, code: string) =>
  expect([answer.status, answer.json.code], answer.text).toEqual([status, code]);

describe.each(WAYS)("guide/flags-statistics: Statistics of a flag (%s)", (_name, through) => {
  const way = (): Way => through({ host, admin });
  const statsOf = async (flagId: string, query?: Record<string, unknown>) => {
    const answer = await way().stats(flagId, query);
    expect(answer.status, answer.text).toBe(200);
    return answer.json;
  };

  test("the statistics of an unused flag are complete and zero", async () => {
    const made = await make();
    const { window, ...stats } = await statsOf(made.id);
    expect(stats).toEqual({
      flagId: made.id,
      asOf: expect.stringMatching(/^\d{4}-.*Z$/),
      evaluations: 0,
      uniqueUsers: 0,
      byReason: {},
      byVariant: {},
      series: [],
    });
    expect(Date.parse(window.end) - Date.parse(window.start)).toBe(7 * DAY_MS);
    expect(Math.abs(Date.now() - Date.parse(window.end))).toBeLessThan(60_000);
  });

  test("every evaluation counts, by reason and by hour", async () => {
    const [made, off] = [await make(), await make({ enabled: false })];
    await way().createRule(made.id, { priority: 1, conditions: when("plan", "equals", "pro"), value: "r" });
    await way().createOverride({ flagId: made.id, userId: "special", value: "o" });
    const before = thisHour();
    await way().evaluate({ flagKey: made.key });
    await way().evaluate({ flagKey: made.key, context: { attributes: { plan: "pro" } } });
    await way().batch({ flagKeys: [made.key, off.key, "unknown"], context: { userId: "special" } });
    await way().bootstrap({ include: [made.key, off.key] });
    const stats = await statsOf(made.id);
    expect(stats.evaluations).toBe(4);
    expect(stats.byReason).toEqual({ default: 2, rule_match: 1, override: 1 });
    expect(
      stats.series.reduce((sum: number, hour: { evaluations: number }) => sum + hour.evaluations, 0),
    ).toBe(4);
    for (const hour of stats.series) expect([before, thisHour()]).toContain(hour.at);
    // A bootstrap leaves disabled flags out, so it does not count as an evaluation of them.
    expect((await statsOf(off.id)).byReason).toEqual({ disabled: 1 });
  });

  test("track records one exposure per user, flag and variant, and without track no exposure is recorded", async () => {
    const made = await make({
      variants: [{ key: "a", weight: 100, value: "A" }],
      bucketBy: "anonymousId",
    });
    for (let round = 0; round < 3; round++) {
      for (const anonymousId of ["u1", "u2"]) {
        await way().evaluate({ flagKey: made.key, context: { anonymousId }, track: true });
      }
    }
    await way().evaluate({ flagKey: made.key, context: { anonymousId: "u3" } });
    const stats = await statsOf(made.id);
    expect(stats.evaluations).toBe(7);
    expect(stats.uniqueUsers).toBe(2);
    expect(stats.byVariant).toEqual({ a: { exposures: 2, uniqueUsers: 2, events: {} } });
  });

  test("track records an exposure of every flag of a batch and of a bootstrap", async () => {
    const prefix = newKey("tracked");
    const [one, two] = [await make({ key: `${prefix}-1` }), await make({ key: `${prefix}-2` })];
    await way().batch({ flagKeys: [one.key, two.key], context: { userId: "u1" }, track: true });
    await way().bootstrap({ prefix, context: { userId: "u2" }, track: true });
    for (const { id } of [one, two]) {
      const nothing = { exposures: 0, uniqueUsers: 0, events: {} };
      const excluded = { exposures: 2, uniqueUsers: 2, events: {} };
      expect((await statsOf(id)).byVariant).toEqual({ false: { ...nothing, excluded } });
    }
  });

  test("anonymous visitors count by their anonymousId, and all without one count as one user", async () => {
    const made = await make();
    for (const context of [{ anonymousId: "a1" }, { anonymousId: "a2" }, {}, { attributes: { n: 1 } }]) {
      await way().evaluate({ flagKey: made.key, context, track: true });
    }
    expect((await statsOf(made.id)).uniqueUsers).toBe(3);
  });

  test("events are listed by name, with count, and with sum and mean of their values", async () => {
    const made = await make({ variants: [{ key: "a", weight: 100, value: "A" }] });
    const buy = (fields: object) => way().event({ flagKey: made.key, event: "buy", ...fields });
    for (const fields of [{ value: 0.1 }, { value: 0.2 }, { properties: 2.7 }, {}]) await buy(fields);
    await way().event({ flagKey: made.key, event: "__proto__" });
    const { events } = (await statsOf(made.id)).byVariant[""];
    expect(events.buy).toEqual({ count: 4, sum: 3, mean: 1, uniqueConverters: 0 });
    expect(Object.keys(events).sort()).toEqual(["__proto__", "buy"]);
  });

  test("the statistics cover the requested window", async () => {
    const made = await make();
    await way().evaluate({ flagKey: made.key });
    const [start, end] = [at(-HOUR_MS), at(HOUR_MS)];
    const requested = await statsOf(made.id, { start, end });
    expect(requested.window).toEqual({ start, end });
    expect(requested.evaluations).toBe(1);
    expect((await statsOf(made.id, { start: at(-3 * DAY_MS), end: at(-2 * HOUR_MS) })).evaluations).toBe(0);
    expect((await statsOf(made.id, { start: at(2 * HOUR_MS), end: at(3 * HOUR_MS) })).evaluations).toBe(0);
  });

  test.each([
    ["a start that is not a time", { start: "monday" }],
    ["an end before the start", { start: at(0), end: at(-HOUR_MS) }],
    ["an end at the start", { start: "2030-01-01T00:00:00Z", end: "2030-01-01T00:00:00Z" }],
    ["more than 400 days", { start: at(-401 * DAY_MS), end: at(0) }],
  ])("%s is 400", async (_what, query) => {
    const made = await make();
    isRefused(await way().stats(made.id, query), 400, "VALIDATION_ERROR");
    isRefused(await way().usage(query), 400, "VALIDATION_ERROR");
  });

  test("the statistics of a flag that does not exist are 404", async () => {
    isRefused(await way().stats("nope"), 404, "FLAG_NOT_FOUND");
  });

  test("include=stats adds the number of rules that count to each flag of a list", async () => {
    const prefix = newKey("ruled");
    const [one] = [await make({ key: `${prefix}-1` }), await make({ key: `${prefix}-2` })];
    const conditions = { conditions: [] };
    const everywhere = [{ enabled: true }, { enabled: true }, { enabled: false }];
    // The host has no default environment.
    for (const [priority, fields] of [...everywhere, { environments: ["staging"] }].entries())
      await way().createRule(one.id, { priority, conditions, value: "A", ...fields });
    const listed = await way().listFlags({ prefix, include: "stats", sort: "key" });
    expect(listed.json.flags.map((flag: { ruleCount: number }) => flag.ruleCount)).toEqual([2, 0]);
    expect((await way().listFlags({ prefix })).json.flags[0]).not.toHaveProperty("ruleCount");
  });

  test("include=stats adds the last 24 hours to each flag of a list, which otherwise has no statistics", async () => {
    const prefix = newKey("listed");
    const [one] = [await make({ key: `${prefix}-1` }), await make({ key: `${prefix}-2` })];
    await way().evaluate({ flagKey: one.key, context: { userId: "u" }, track: true });
    await way().evaluate({ flagKey: one.key });
    const listed = await way().listFlags({ prefix, include: "stats", sort: "key" });
    expect(listed.json.flags.map((flag: { stats: object }) => flag.stats)).toEqual([
      { evaluations: 2, uniqueUsers: 1 },
      { evaluations: 0, uniqueUsers: 0 },
    ]);
    expect((await way().listFlags({ prefix })).json.flags[0]).not.toHaveProperty("stats");
    isRefused(await way().listFlags({ include: "rules" }), 400, "VALIDATION_ERROR");
  });
});

describe.each(WAYS)("guide/flags-statistics: Usage (%s)", (_name, through) => {
  test("usage counts flags, evaluations and events, and lists the most used flags", async () => {
    const usageHost = await memoryHost();
    const way = through({ host: usageHost, admin: await usageHost.person("admin", "admin") });
    for (let index = 0; index < 12; index++) {
      await way.createFlag({ key: `f${index}`, name: "N", type: "boolean", enabled: index % 2 === 0 });
      for (let times = 0; times < index; times++) await way.evaluate({ flagKey: `f${index}` });
    }
    await way.event({ flagKey: "f1", event: "e" });
    await usageHost.auth.api.createFeatureFlagEvent({ body: { flagKey: "unknown", event: "e" } });
    const { status, json } = await way.usage();
    expect(status).toBe(200);
    const keys = ["asOf", "evaluations", "events", "flags", "series", "top", "window"];
    expect(Object.keys(json).sort()).toEqual(keys);
    expect(Math.abs(Date.now() - Date.parse(json.asOf))).toBeLessThan(60_000);
    expect(json.flags).toEqual({ total: 12, enabled: 6, stale: 0 });
    expect([json.evaluations, json.events]).toEqual([66, 2]);
    expect(json.top.map(({ flagKey }: { flagKey: string }) => flagKey)).toEqual(
      Array.from({ length: 10 }, (_, index) => `f${11 - index}`),
    );
    expect(json.top[0]).toEqual({ flagId: expect.any(String), flagKey: "f11", evaluations: 11 });
    expect(
      json.series.reduce((sum: number, hour: { evaluations: number }) => sum + hour.evaluations, 0),
    ).toBe(66);
  });

  test("a flag is stale if it is older than the window and was not evaluated in it", async () => {
    const usageHost = await memoryHost();
    const way = through({ host: usageHost, admin: await usageHost.person("admin", "admin") });
    const create = (key: string) => way.createFlag({ key, name: "N", type: "boolean", enabled: true });
    await create("used");
    await create("unused");
    await way.evaluate({ flagKey: "used" });
    await way.bootstrap({ include: ["used"] });
    const window = { start: at(0), end: at(HOUR_MS) };
    await new Promise((resolve) => setTimeout(resolve, 5));
    await create("young");
    expect((await way.usage(window)).json.flags).toEqual({ total: 3, enabled: 3, stale: 1 });
    expect((await way.usage()).json.flags.stale).toBe(0);
  });
});

describe("guide/flags-statistics: Statistics of a flag (organizations)", () => {
  test("callers see the statistics of their organization, and application admins see all", async () => {
    const tenants = await memoryHost({ flags: { multiTenant: true } });
    const [ann, bob] = [await tenants.person("ann"), await tenants.person("bob")];
    const chief = await tenants.person("chief", "admin");
    const [orgA, orgB] = [await tenants.organization(ann, "a"), await tenants.organization(bob, "b")];
    const create = (organizationId: string) =>
      tenants.auth.api.createFeatureFlag({
        body: { key: "same", name: "N", type: "boolean", enabled: true, organizationId },
      });
    const [ofA, ofB] = [await create(orgA), await create(orgB)];
    for (const as of [ann, ann, bob]) await tenants.evaluate({ flagKey: "same", track: true }, as);
    const get = (path: string, as: Person) => tenants.call("GET", `/feature-flags/admin/${path}`, { as });
    expect((await get(`flags/${ofA.id}/stats`, ann)).json).toMatchObject({ evaluations: 2, uniqueUsers: 1 });
    expect((await get(`flags/${ofB.id}/stats`, bob)).json).toMatchObject({ evaluations: 1, uniqueUsers: 1 });
    isRefused(await get(`flags/${ofB.id}/stats`, ann), 404, "FLAG_NOT_FOUND");
    const usage = await get("metrics/usage", ann);
    expect([usage.json.flags.total, usage.json.evaluations]).toEqual([1, 2]);
    isRefused(await get(`metrics/usage?organizationId=${orgB}`, ann), 403, "PERMISSION_DENIED");
    const all = await get("metrics/usage", chief);
    expect([all.json.flags.total, all.json.evaluations, all.json.top.length]).toEqual([2, 3, 2]);
    const listed = await get("flags?include=stats&sort=createdAt", chief);
    expect(
      listed.json.flags.map(({ stats }: { stats: { evaluations: number } }) => stats.evaluations),
    ).toEqual([2, 1]);
  });

  test("an organizationId is 400 with multiTenant off", async () => {
    isRefused(
      await host.call("GET", "/feature-flags/admin/metrics/usage?organizationId=o", { as: admin }),
      400,
      "VALIDATION_ERROR",
    );
  });
});

describe("guide/flags-operations: Deploys", () => {
  test("closeFeatureFlags writes the counts and exposures that are still in memory", async () => {
    const database = memoryDatabase();
    const first = await startHost({ database });
    const made = await first.auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", enabled: true },
    });
    await first.auth.api.createFeatureFlagRule({
      body: { flagId: made.id, priority: 1, conditions: everyone, value: true },
    });
    for (const userId of ["a", "b", "b"]) {
      await first.evaluate({ flagKey: "k", context: { userId }, track: true });
    }
    await first.close();
    const second = await startHost({ database, migrate: false });
    const stats = await second.auth.api.getFeatureFlagStats({ params: { id: made.id } });
    expect(stats).toMatchObject({ evaluations: 3, uniqueUsers: 2, byReason: { rule_match: 3 } });
    await second.close();
  });
});
