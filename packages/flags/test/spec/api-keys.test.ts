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
});
