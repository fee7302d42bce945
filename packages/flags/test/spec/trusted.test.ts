/** Checks trusted attributes: what rules read, from where, and who may claim it. */
import { createServerProvider } from "@halyard/flags/openfeature";
import { OpenFeature } from "@openfeature/server-sdk";
import { beforeAll, describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { DATABASES, ruled, sessionOf, setFields, TRUSTED, trustedSuite, when } from "../trusted-host.ts";

describe.each(DATABASES)("guide/flags-trusted: Attribute paths (%s)", (_name, open) => {
  let host: Host;
  let pro: Person;
  let free: Person;
  trustedSuite(open, { trusted: TRUSTED }, async (started) => {
    host = started;
    [pro, free] = [await host.person("pro"), await host.person("free")];
    await setFields(host, "user", pro.id, { plan: "pro" });
  });
  const answerFor = async (key: string, as?: Person, context?: object) =>
    (await host.evaluate({ flagKey: key, context }, as)).json.value;

  test("user.<field> is the field of the signed-in user's row", async () => {
    const { key } = await ruled(host, when("user.plan", "equals", "pro"));
    expect([await answerFor(key, pro), await answerFor(key, free), await answerFor(key)]).toEqual([
      "yes",
      "no",
      "no",
    ]);
  });

  test("session.<field> and organization.<field> are those of the caller's session and organization", async () => {
    const [owner, stranger] = [await host.person("owner"), await host.person("stranger")];
    const acme = await host.organization(owner, "acme");
    await setFields(host, "session", await sessionOf(host, owner), { channel: "partner" });
    await setFields(host, "organization", acme, { tier: "gold" });
    const bySession = await ruled(host, when("session.channel", "equals", "partner"));
    const byOrganization = await ruled(host, when("organization.tier", "equals", "gold"));
    expect([await answerFor(bySession.key, owner), await answerFor(bySession.key, stranger)]).toEqual([
      "yes",
      "no",
    ]);
    expect([
      await answerFor(byOrganization.key, owner),
      await answerFor(byOrganization.key, stranger),
    ]).toEqual(["yes", "no"]);
  });

  test("an attribute that the caller sends is no trusted attribute", async () => {
    const trusted = await ruled(host, when("user.plan", "equals", "pro"));
    const claimed = await ruled(host, when("attributes.user.plan", "equals", "pro"));
    const context = { attributes: { plan: "pro", user: { plan: "pro" }, "user.plan": "pro" } };
    expect(await answerFor(trusted.key, free, context)).toBe("no");
    expect(await answerFor(claimed.key, free, context)).toBe("yes");
  });

  test("evaluate, batch, bootstrap, OFREP, the OpenFeature provider and the server answer alike", async () => {
    const { key } = await ruled(host, when("user.plan", "equals", "pro"));
    const as = pro;
    const batch = await host.call("POST", "/feature-flags/evaluate-batch", { as, body: { flagKeys: [key] } });
    const bootstrap = await host.call("POST", "/feature-flags/bootstrap", { as, body: {} });
    const ofrep = await host.call("POST", `/ofrep/v1/evaluate/flags/${key}`, { as, body: {} });
    const bulk = await host.call("POST", "/ofrep/v1/evaluate/flags", { as, body: {} });
    const server = await host.auth.api.evaluateFeatureFlag({
      body: { flagKey: key, context: { userId: pro.id } },
    });
    await OpenFeature.setProviderAndWait("trusted", createServerProvider(host.auth, { pollMs: 0 }));
    const client = OpenFeature.getClient("trusted");
    expect([
      batch.json.flags[key].value,
      bootstrap.json.flags[key].value,
      ofrep.json.value,
      bulk.json.flags.find((one: { key: string }) => one.key === key).value,
      server.value,
      await client.getStringValue(key, "default", { targetingKey: pro.id }),
      await client.getStringValue(key, "default", { targetingKey: free.id }),
      await client.getStringValue(key, "default", { targetingKey: free.id, user: { plan: "pro" } }),
    ]).toEqual(["yes", "yes", "yes", "yes", "yes", "yes", "no", "yes"]);
  });

  test("an event has the variant that the trusted attributes give", async () => {
    const { api } = host.auth;
    const variants = [
      { key: "control", weight: 100, value: "c" },
      { key: "paid", weight: 0, value: "p" },
    ];
    const flag = await api.createFeatureFlag({
      body: { key: "paid-events", name: "N", type: "string", enabled: true, variants },
    });
    await api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: when("user.plan", "equals", "pro"), variant: "paid" },
    });
    const body = { flagKey: flag.key, event: "bought" };
    expect((await host.call("POST", "/feature-flags/events", { as: pro, body })).status).toBe(200);
    const stored = await host.adapter.findOne<{ variant: string }>({
      model: "featureFlagEvent",
      where: [{ field: "flagKey", value: flag.key }],
    });
    expect(stored?.variant).toBe("paid");
  });

  test("the context in a response leaves them out", async () => {
    await ruled(host, when("user.plan", "equals", "pro"));
    const { json } = await host.call("POST", "/feature-flags/bootstrap", { as: pro, body: {} });
    expect(json.context).toEqual({ userId: pro.id, email: pro.email, role: "user" });
  });

  test("a date is compared as an ISO date", async () => {
    const { key } = await ruled(host, when("user.plan", "greater_than", "2026-01-01"));
    await setFields(host, "user", free.id, { plan: "2026-06-01" });
    expect(await answerFor(key, free)).toBe("yes");
  });
});

describe.each(DATABASES)("guide/flags-trusted: Claiming trusted attributes (%s)", (_name, open) => {
  let host: Host;
  let user: Person;
  let admin: Person;
  let key: string;
  trustedSuite(open, { trusted: TRUSTED }, async (started) => {
    host = started;
    [user, admin] = [await host.person("user"), await host.person("admin", "admin")];
  });
  beforeAll(async () => {
    ({ key } = await ruled(host, when("user.plan", "equals", "pro")));
  });
  const CLAIMS = [
    { user: { plan: "pro" } },
    { session: { channel: "c" } },
    { organization: { tier: "gold" } },
    { trusted: { seats: 1 } },
  ];
  const ROUTES: [string, (key: string) => object][] = [
    ["/feature-flags/evaluate", (flagKey) => ({ flagKey })],
    ["/feature-flags/evaluate-batch", (flagKey) => ({ flagKeys: [flagKey] })],
    ["/feature-flags/bootstrap", () => ({})],
    ["/feature-flags/events", (flagKey) => ({ flagKey, event: "e" })],
    ["/ofrep/v1/evaluate/flags", () => ({})],
  ];

  test.for(ROUTES)("%s refuses them: 401 without a session, 403 with one", async ([path, bodyOf]) => {
    for (const context of CLAIMS) {
      const body = { ...bodyOf(key), context };
      const anonymous = await host.call("POST", path, { body });
      const signedIn = await host.call("POST", path, { body, as: user });
      expect([anonymous.status, signedIn.status]).toEqual([401, 403]);
      expect(anonymous.text).toContain(Object.keys(context)[0]);
    }
  });

  test("evaluate-as claims them, and the other fields of the user are looked up", async () => {
    const claim = (context: object) => host.evaluate({ flagKey: key, context }, admin);
    expect((await claim({ userId: "missing" })).json.value).toBe("no");
    expect((await claim({ userId: "missing", user: { plan: "pro" } })).json.value).toBe("yes");
    expect((await claim({ user: { plan: "pro" } })).json.value).toBe("yes");
    expect((await claim({ userId: user.id, user: { other: 1 } })).json.value).toBe("no");
    await setFields(host, "user", user.id, { plan: "pro" });
    expect((await claim({ userId: user.id, user: { other: 1 } })).json.value).toBe("yes");
  });

  test("a server key claims them", async () => {
    const serverKey = await host.key({ userId: user.id }, ["read"]);
    const context = { user: { plan: "pro" } };
    expect((await host.evaluate({ flagKey: key, context }, serverKey)).json.value).toBe("yes");
    expect((await host.evaluate({ flagKey: key }, serverKey)).json.value).toBe("no");
  });

  test("a server call that names only ids gets the fields of their rows", async () => {
    const owner = await host.person("owner");
    const acme = await host.organization(owner, "acme");
    await setFields(host, "organization", acme, { tier: "silver" });
    const byTier = await ruled(host, when("organization.tier", "equals", "silver"));
    const ask = async (flagKey: string, context: object) =>
      (await host.auth.api.evaluateFeatureFlag({ body: { flagKey, context } })).value;
    expect(await ask(byTier.key, { organizationId: acme })).toBe("yes");
    expect(await ask(byTier.key, { organizationId: "none" })).toBe("no");
    expect(await ask(key, { userId: owner.id })).toBe("no");
  });

  test("an anonymous visitor with a claimed user id has none", async () => {
    await setFields(host, "user", user.id, { plan: "pro" });
    expect((await host.evaluate({ flagKey: key, context: { userId: user.id } })).json.value).toBe("no");
  });
});

describe("guide/flags-trusted: Freshness", () => {
  describe.each(DATABASES)("%s", (_name, open) => {
    let host: Host;
    trustedSuite(open, { trusted: TRUSTED }, (started) => {
      host = started;
    });

    test("what this process writes counts for the next request", async () => {
      const user = await host.person("changing");
      const acme = await host.organization(user, "changing");
      const session = await sessionOf(host, user);
      const flags = {
        user: await ruled(host, when("user.plan", "equals", "new")),
        session: await ruled(host, when("session.channel", "equals", "new")),
        organization: await ruled(host, when("organization.tier", "equals", "new")),
      };
      const answerFor = async (model: keyof typeof flags) =>
        (await host.evaluate({ flagKey: flags[model].key }, user)).json.value;
      const rows = [
        ["user", user.id, "plan"],
        ["session", session, "channel"],
        ["organization", acme, "tier"],
      ] as const;
      for (const [model, id, field] of rows) {
        expect(await answerFor(model)).toBe("no");
        await setFields(host, model, id, { [field]: "new" });
        expect(await answerFor(model)).toBe("yes");
      }
    });
  });
});
