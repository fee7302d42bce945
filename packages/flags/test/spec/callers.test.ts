/** Checks for which user and organization the server evaluates, by the credentials of the caller. */
import type { FeatureFlagsOptions } from "@halyard/flags";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { wrapHost } from "../wrapped-host.ts";

let host: Host;
let admin: Person;
let user: Person;
let owner: Person;
let org: string;
let foreignOrg: string;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
  user = await host.person("user");
  owner = await host.person("owner");
  org = await host.organization(owner, "home");
  foreignOrg = await host.organization(await host.person("stranger"), "foreign");
});

const PUBLIC: readonly (readonly [string, (context?: object) => [string, object]])[] = [
  ["evaluate", (context) => ["/feature-flags/evaluate", { flagKey: "k", context, contextInResponse: true }]],
  ["evaluate-batch", (context) => ["/feature-flags/evaluate-batch", { flagKeys: ["k"], context }]],
  ["bootstrap", (context) => ["/feature-flags/bootstrap", { context }]],
];

describe.each(PUBLIC)("guide/flags-permissions: Caller and context (%s)", (_name, requestOf) => {
  const send = (context?: object, as?: { headers: Record<string, string> }) => {
    const [path, body] = requestOf(context);
    return host.request(path, body, as?.headers);
  };
  const isDenied = async (context: object, as: Person, field: string) => {
    const answer = await send(context, as);
    expect([answer.status, answer.json.code, answer.json.details?.fields]).toEqual([
      403,
      "PERMISSION_DENIED",
      [field],
    ]);
  };

  test("a session is evaluated as its user", async () => {
    const { json } = await send(undefined, user);
    expect(json.context).toEqual({ userId: user.id, email: user.email, role: "user" });
  });

  test("a session may repeat its own identity and add attributes", async () => {
    const described = {
      anonymousId: "a",
      attributes: { plan: "pro" },
      device: { os: "iOS" },
      geo: { country: "DE" },
    };
    const { status, json } = await send(
      { userId: user.id, email: user.email, role: "user", ...described },
      user,
    );
    expect(status).toBe(200);
    expect(json.context).toEqual({ userId: user.id, email: user.email, role: "user", ...described });
  });

  test("a session may not claim to be another user", async () => {
    await isDenied({ userId: "other" }, user, "userId");
    await isDenied({ email: "other@example.com" }, user, "email");
    await isDenied({ role: "admin" }, user, "role");
  });

  test("organizationId is the active organization, or another one the user belongs to", async () => {
    expect((await send(undefined, owner)).json.context).toMatchObject({ organizationId: org });
    expect((await send({ organizationId: org }, owner)).status).toBe(200);
    await isDenied({ organizationId: foreignOrg }, owner, "organizationId");
    await isDenied({ organizationId: "nowhere" }, owner, "organizationId");
    // No organization can have such an id.
    expect((await send({ organizationId: "\u0000" }, owner)).status).toBe(400);
    expect((await send({ organizationId: "" }, owner)).json.context).not.toHaveProperty("organizationId");
  });

  test("the server sets attributes.organizationRole, and a session cannot claim it", async () => {
    expect((await send({ attributes: { a: 1 } }, owner)).json.context.attributes).toEqual({
      a: 1,
      organizationRole: "owner",
    });
    await isDenied({ attributes: { organizationRole: "admin" } }, owner, "attributes.organizationRole");
    await isDenied({ attributes: { organizationRole: "owner" } }, user, "attributes.organizationRole");
  });

  test("evaluate-as lets an admin claim another identity, which then replaces the admin's own entirely", async () => {
    const context = { userId: "someone", attributes: { organizationRole: "owner" } };
    const { status, json } = await send(context, admin);
    expect([status, json.context]).toEqual([200, context]);
  });

  test("an anonymous visitor may claim a user, an organization and descriptions", async () => {
    const described = { device: { os: "iOS" }, geo: { country: "DE" }, attributes: { plan: "pro" } };
    const context = { userId: "u", organizationId: "o", anonymousId: "a", ...described };
    expect((await send(context)).json.context).toEqual(context);
  });

  test.each([
    ["role", { role: "admin" }],
    ["email", { email: "e@example.com" }],
    ["attributes.organizationRole", { attributes: { organizationRole: "owner" } }],
    ["role", { userId: "u", organizationId: "o", role: "admin" }],
  ])("an anonymous visitor may not claim %s", async (field, context) => {
    const { status, json } = await send(context);
    expect([status, json.code, json.details]).toEqual([401, "PERMISSION_DENIED", { fields: [field] }]);
    expect(json.message).toContain(field);
  });

  test("an API key is not a user, and may claim to be one only with evaluate-as", async () => {
    const plain = await host.key({ userId: owner.id }, ["read"]);
    expect((await send({ attributes: { a: 1 } }, plain)).json.context).toEqual({ attributes: { a: 1 } });
    await isDenied({ userId: "u" }, plain, "userId");
    const acting = await host.key({ userId: owner.id }, ["evaluate-as"]);
    expect((await send({ userId: "u", organizationId: "any" }, acting)).json.context).toEqual({
      userId: "u",
      organizationId: "any",
    });
  });

  test("an invalid API key is refused and not treated as an anonymous visitor", async () => {
    const answer = await send(undefined, { headers: { "x-api-key": "x".repeat(64) } });
    expect([answer.status, answer.json.code]).toEqual([401, "PERMISSION_DENIED"]);
  });

  test("a bearer token is a session", async () => {
    const { token } = await host.auth.api.signInEmail({
      body: { email: user.email, password: "correct horse battery" },
    });
    const { json } = await send(undefined, { headers: { authorization: `Bearer ${token}` } });
    expect(json.context.userId).toBe(user.id);
  });

  test("a user who was removed from an organization no longer evaluates in it, even if the session still names it", async () => {
    const leaver = await host.person(newKey("leaver"));
    await host.join(leaver, org);
    expect((await send(undefined, leaver)).json.context.organizationId).toBe(org);
    await host.auth.api.removeMember({
      body: { memberIdOrEmail: leaver.email, organizationId: org },
      headers: new Headers(owner.headers),
    });
    expect((await send(undefined, leaver)).json.context).not.toHaveProperty("organizationId");
    await isDenied({ organizationId: org }, leaver, "organizationId");
  });
});

describe("guide/flags-permissions: Roles", () => {
  const body = { flagKey: "k", context: { userId: "anyone" }, contextInResponse: true } as const;

  test("server calls are trusted without headers", async () => {
    const { context } = await host.auth.api.evaluateFeatureFlag({ body });
    expect(context?.userId).toBe("anyone");
  });

  test.each([
    ["empty headers", {}],
    ["only an environment", { "x-deployment-ring": "beta" }],
    ["only an idempotency key", { "idempotency-key": "1" }],
    ["both", { "x-deployment-ring": "beta", "idempotency-key": "1" }],
  ])("a server call with %s is an anonymous visitor's", async (_, headers) => {
    const key = newKey();
    await host.auth.api.createFeatureFlag({
      body: { key, name: "N", type: "boolean", enabled: true, visibility: "server" },
    });
    const request = { body: { flagKey: key } };
    expect((await host.auth.api.evaluateFeatureFlag(request)).reason).toBe("default");
    const anonymous = await host.auth.api.evaluateFeatureFlag({ ...request, headers: new Headers(headers) });
    expect(anonymous.reason).toBe("not_found");
  });

  test("server calls with other headers act for the caller those headers identify", async () => {
    const asUser = host.auth.api.evaluateFeatureFlag({ body, headers: new Headers(user.headers) });
    await expect(asUser).rejects.toMatchObject({ statusCode: 403, body: { code: "PERMISSION_DENIED" } });
    const mixed = new Headers({ ...user.headers, "x-deployment-ring": "beta" });
    await expect(host.auth.api.evaluateFeatureFlag({ body, headers: mixed })).rejects.toMatchObject({
      statusCode: 403,
    });
    const asUserOnly = await host.auth.api.evaluateFeatureFlag({
      body: { flagKey: "k", contextInResponse: true },
      headers: new Headers(user.headers),
    });
    expect(asUserOnly.context?.userId).toBe(user.id);
  });

  test("an admin method with headers but without credentials is 401, even with an idempotency key", async () => {
    for (const headers of [
      new Headers(),
      new Headers({ "idempotency-key": "1" }),
      new Headers({ "x-deployment-ring": "b" }),
    ]) {
      const list = host.auth.api.listFeatureFlags({ headers });
      await expect(list).rejects.toMatchObject({ statusCode: 401, body: { code: "PERMISSION_DENIED" } });
    }
  });
});

describe("guide/flags-permissions: Caller and context", () => {
  test("with identity: verified, an anonymous visitor may claim anonymousId and attributes and no other identity", async () => {
    const { evaluate, person, key, auth } = await memoryHost({ flags: { identity: "verified" } });
    for (const context of [{ userId: "u" }, { email: "e" }, { role: "r" }, { organizationId: "o" }]) {
      const answer = await evaluate({ flagKey: "k", context });
      expect([answer.status, answer.json.code]).toEqual([401, "PERMISSION_DENIED"]);
    }
    const allowed = { anonymousId: "a", attributes: { userId: "u" } };
    expect((await evaluate({ flagKey: "k", context: allowed })).status).toBe(200);
    const signedIn = await person("user");
    expect((await evaluate({ flagKey: "k", context: { userId: signedIn.id } }, signedIn)).status).toBe(200);
    const acting = await key({ userId: signedIn.id }, ["evaluate-as"]);
    expect((await evaluate({ flagKey: "k", context: { userId: "u" } }, acting)).status).toBe(200);
    const serverCall = await auth.api.evaluateFeatureFlag({
      body: { flagKey: "k", context: { userId: "u" } },
    });
    expect(serverCall.reason).toBe("not_found");
  });

  test("in production without the option identity, one warning names the risk and the option to add", async () => {
    vi.stubEnv("NODE_ENV", "production");
    onTestFinished(() => void vi.unstubAllEnvs());
    const warnings = async (flags: FeatureFlagsOptions) => {
      const lines: string[] = [];
      const { evaluate } = await memoryHost({ flags, log: (message) => void lines.push(message) });
      for (const userId of ["a", "b"]) await evaluate({ flagKey: "k", context: { userId } });
      return lines.filter((line) => line.includes("identity"));
    };
    expect(await warnings({})).toEqual([
      expect.stringMatching(
        /may claim any userId .* Add identity: "verified" to featureFlags\(\), or identity: "claimed"/,
      ),
    ]);
    for (const identity of ["claimed", "verified"] as const) expect(await warnings({ identity })).toEqual([]);
  });

  test("without the organization plugin every caller may send any organizationId, on both paths", async () => {
    const alone = await memoryHost();
    const wrapped = await wrapHost(alone, { without: ["organization"] });
    const { api } = alone.auth;
    const flag = await api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", enabled: true },
    });
    const isAcme = { attribute: "organizationId", operator: "equals", value: "acme" } as const;
    await api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions: { conditions: [isAcme] }, value: true },
    });
    const ada = await alone.person("ada");
    for (const headers of [{}, ada.headers, (await alone.key({ userId: ada.id }, [])).headers]) {
      const paths: boolean[] = [];
      for (let attempt = 0; attempt < 2; attempt++) {
        const body = { flagKey: "k", context: { organizationId: "acme" } };
        const { status, json, isFast } = await wrapped.ask("evaluate", body, headers);
        expect([status, json["value"]]).toEqual([200, true]);
        paths.push(isFast);
      }
      expect(paths.at(-1)).toBe(true);
    }
    // With the plugin, only members may.
    const context = { organizationId: "acme" };
    expect((await alone.evaluate({ flagKey: "k", context }, ada)).status).toBe(403);
  });
});
