/** Checks requests that carry an API key. */
import { apiKey } from "@better-auth/api-key";
import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryDatabase, memoryHost, newKey, suiteHost } from "../memory-host.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe("guide/flags-permissions: API keys", () => {
  test("an API key without permissions on flags cannot administer, and evaluates as an anonymous visitor", async () => {
    const { key } = await host.auth.api.createApiKey({
      body: { userId: admin.id, permissions: { other: ["read"] } },
    });
    const as = { headers: { "x-api-key": key } };
    expect((await host.call("GET", "/feature-flags/admin/flags", { as })).status).toBe(401);
    const answer = await host.request(
      "/feature-flags/evaluate",
      { flagKey: "k", contextInResponse: true },
      as.headers,
    );
    expect([answer.status, answer.json.context]).toEqual([200, {}]);
  });

  test("an API key with no requests left is 429", async () => {
    const { key } = await host.auth.api.createApiKey({
      body: { userId: admin.id, remaining: 1, permissions: { featureFlag: ["read"] } },
    });
    const as = { headers: { "x-api-key": key } };
    expect((await host.call("GET", "/feature-flags/admin/flags", { as })).status).toBe(200);
    const spent = await host.call("GET", "/feature-flags/admin/flags", { as });
    expect([spent.status, spent.json.code]).toEqual([429, "RATE_LIMIT_EXCEEDED"]);
  });

  test("an API key over its rate limit is 429 with Retry-After", async () => {
    const auth = betterAuth({
      baseURL: "http://localhost:3000",
      database: memoryDatabase(),
      secret: "a secret that is only good enough for tests, which is all it does",
      emailAndPassword: { enabled: true },
      logger: { disabled: true },
      plugins: [apiKey({ rateLimit: { enabled: true, maxRequests: 1, timeWindow: 60_000 } }), featureFlags()],
    });
    await (await getMigrations(auth.options)).runMigrations();
    const { user: keeper } = await auth.api.signUpEmail({
      body: { email: "k@example.com", password: "correct horse battery", name: "K" },
    });
    const { key } = await auth.api.createApiKey({
      body: { userId: keeper.id, permissions: { featureFlag: ["read"] } },
    });
    const list = () => auth.api.listFeatureFlags({ headers: { "x-api-key": key }, asResponse: true });
    expect((await list()).status).toBe(200);
    const refused = await list();
    expect([refused.status, (await refused.json()).code]).toEqual([429, "RATE_LIMIT_EXCEEDED"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
  });

  test("the audit log names the API key that made a change", async () => {
    const writer = await host.key({ userId: admin.id }, ["create"]);
    const { json } = await host.createFlag({ key: newKey(), name: "N", type: "boolean" }, writer);
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: json.id } });
    expect(entries[0]?.actor).toEqual({ type: "key", id: writer.id });
  });

  test("with enableSessionForAPIKeys, an API key without permissions on flags evaluates as its owner and cannot administer", async () => {
    const { auth, person, request, call } = await memoryHost({ keysAreSessions: true });
    const boss = await person("boss", "admin");
    const { key } = await auth.api.createApiKey({ body: { userId: boss.id } });
    const headers = { "x-api-key": key };
    const answer = await request(
      "/feature-flags/evaluate",
      { flagKey: "k", contextInResponse: true },
      headers,
    );
    expect(answer.json.context.userId).toBe(boss.id);
    expect((await call("GET", "/feature-flags/admin/flags", { headers })).status).toBe(401);
  });

  test("without the API key plugin, the header x-api-key is ignored", async () => {
    const auth = betterAuth({
      baseURL: "http://localhost:3000",
      database: memoryDatabase(),
      secret: "a secret that is only good enough for tests, which is all it does",
      logger: { disabled: true },
      plugins: [featureFlags()],
    });
    await (await getMigrations(auth.options)).runMigrations();
    const headers = { "x-api-key": "x" };
    await expect(auth.api.listFeatureFlags({ headers })).rejects.toMatchObject({ statusCode: 401 });
    expect((await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" }, headers })).reason).toBe(
      "not_found",
    );
  });

  test("with multiTenant, a key with evaluate-as evaluates global flags as any user, of members and of others", async () => {
    const { auth, person, organization, key, call, request } = await memoryHost({
      flags: { multiTenant: true },
    });
    const [owner, stranger] = [await person("owner"), await person("stranger")];
    const acme = await organization(owner, "acme");
    await auth.api.createFeatureFlag({ body: { key: "g", name: "G", type: "boolean", organizationId: "" } });
    const evaluate = (as: Person, organizationId?: string) => {
      const context = { userId: "u1", ...(organizationId !== undefined && { organizationId }) };
      return request("/feature-flags/evaluate", { flagKey: "g", context }, as.headers);
    };
    const list = (as: Person, query = "") => call("GET", `/feature-flags/admin/flags${query}`, { as });
    for (const { id } of [owner, stranger]) {
      const as = await key({ userId: id }, ["read", "evaluate-as"]);
      const answer = await evaluate(as);
      expect([answer.status, answer.json.reason]).toEqual([200, "disabled"]);
      const refused = await list(as, "?organizationId=");
      expect([refused.status, refused.json.message]).toEqual([
        403,
        expect.stringContaining("in those of its owner"),
      ]);
      expect((await list(as)).json.details.issues).toEqual([
        { path: "organizationId", message: "is required, because no organization owns the API key" },
      ]);
    }
    const [ofOwner, ofStranger] = [
      await key({ userId: owner.id }, ["read", "evaluate-as"]),
      await key({ userId: stranger.id }, ["read", "evaluate-as"]),
    ];
    expect((await evaluate(ofOwner, acme)).status).toBe(200);
    expect((await list(ofOwner, `?organizationId=${acme}`)).status).toBe(200);
    const foreign = await evaluate(ofStranger, acme);
    expect([foreign.status, foreign.json.message]).toEqual([
      403,
      expect.stringContaining("in those of its owner"),
    ]);
    const readOnly = await evaluate(await key({ userId: owner.id }, ["read"]));
    expect([readOnly.status, readOnly.json.message]).toEqual([
      403,
      expect.stringContaining('The API key lacks featureFlag: ["evaluate-as"].'),
    ]);
  });

  test("with multiTenant, a key for a service has its actions on the global flags and in every organization", async () => {
    const { auth, person, organization, key, call, evaluate } = await memoryHost({
      flags: { multiTenant: true },
    });
    const acme = await organization(await person("owner"), "acme");
    for (const organizationId of ["", acme])
      await auth.api.createFeatureFlag({
        body: { key: `of-${organizationId}`, name: "N", type: "boolean", organizationId },
      });
    const as = await key({ userId: "service:billing" }, ["read", "evaluate-as"]);
    const { json } = await call("GET", "/feature-flags/admin/flags", { as });
    expect(json.flags.map((one: { key: string }) => one.key).sort()).toEqual(["of-", `of-${acme}`]);
    const context = { userId: "u1", organizationId: acme };
    expect((await evaluate({ flagKey: `of-${acme}`, context }, as)).json.reason).toBe("disabled");
    expect(
      (await call("PATCH", `/feature-flags/admin/flags/key:of-`, { as, body: { name: "M" } })).status,
    ).toBe(403);
  });

  test("a key that a person made sees server-only flags and claims trusted attributes while the person may", async () => {
    const { auth, person, key, evaluate } = await memoryHost({});
    const [root, maker] = [await person("root", "admin"), await person("maker", "admin")];
    await auth.api.createFeatureFlag({
      body: { key: "s", name: "S", type: "boolean", enabled: true, visibility: "server" },
    });
    const as = await key({ userId: maker.id, isPersonal: true }, ["read", "evaluate-as"]);
    const ofServer = await key({ userId: maker.id }, []);
    const claim = { flagKey: "s", context: { user: { plan: "pro" } } };
    const answers = async () => {
      const [seen, claimed] = [await evaluate({ flagKey: "s" }, as), await evaluate(claim, as)];
      return [seen.json.reason, claimed.status];
    };
    expect(await answers()).toEqual(["default", 200]);
    await auth.api.setRole({
      body: { userId: maker.id, role: "user" },
      headers: new Headers(root.headers),
    });
    expect(await answers()).toEqual(["not_found", 403]);
    expect((await evaluate({ flagKey: "s" }, ofServer)).json.reason).toBe("default");
  });

  test("a key that a person made names only environments that a session may name", async () => {
    const { person, key, request } = await memoryHost({
      flags: { environments: { default: "production", claimable: ["beta"] } },
    });
    const maker = await person("maker", "admin");
    const as = await key({ userId: maker.id, isPersonal: true }, ["read", "evaluate-as"]);
    const ofServer = await key({ userId: maker.id }, ["read"]);
    const environmentFor = async ({ headers }: Person, environment: string) => {
      const body = { flagKey: "k", environment, contextInResponse: true };
      return (await request("/feature-flags/evaluate", body, headers)).json.context.environment;
    };
    for (const one of [as, maker]) {
      expect(await environmentFor(one, "staging")).toBe("production");
      expect(await environmentFor(one, "beta")).toBe("beta");
    }
    expect(await environmentFor(ofServer, "staging")).toBe("staging");
  });

  test("a key that a person made claims a role in an organization only with evaluate-as", async () => {
    const { auth, person, organization, join, key, evaluate } = await memoryHost({
      flags: { multiTenant: true },
    });
    const [owner, member] = [await person("owner"), await person("member")];
    const acme = await organization(owner, "acme");
    await join(member, acme);
    await auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", organizationId: acme },
    });
    const context = { organizationId: acme, attributes: { organizationRole: "owner" } };
    const answerFor = async (as: Person) => {
      const { status, json } = await evaluate({ flagKey: "k", context, contextInResponse: true }, as);
      return [status, json.details?.fields ?? json.context.attributes?.organizationRole];
    };
    const personal = (userId: string) => key({ userId, isPersonal: true }, ["read", "evaluate-as"]);
    const foreign = ["attributes.organizationRole"];
    expect(await answerFor(member)).toEqual([403, foreign]);
    expect(await answerFor(await personal(member.id))).toEqual([403, foreign]);
    expect(await answerFor(await key({ userId: owner.id, isPersonal: true }, ["read"]))).toEqual([
      403,
      foreign,
    ]);
    expect(await answerFor(await personal(owner.id))).toEqual([200, "owner"]);
    expect(await answerFor(await key({ userId: member.id }, []))).toEqual([200, "owner"]);
  });

  test("requests with keys that a person made count with the person's session", async () => {
    const { person, key, call } = await memoryHost({
      rateLimit: { enabled: true },
      flags: { rateLimit: { rules: { evaluate: { max: 3, windowSeconds: 60 } } } },
    });
    const maker = await person("maker", "admin");
    const [first, second] = [
      await key({ userId: maker.id, isPersonal: true }, ["read"]),
      await key({ userId: maker.id, isPersonal: true }, ["read"]),
    ];
    const ofServer = await key({ userId: maker.id }, ["read"]);
    const statusFor = async (as: Person) =>
      (await call("POST", "/feature-flags/evaluate", { as, body: { flagKey: "k" } })).status;
    const statuses: number[] = [];
    for (const one of [first, second, maker, first, maker, ofServer]) statuses.push(await statusFor(one));
    expect(statuses).toEqual([200, 200, 200, 429, 429, 200]);
  });
});
