/** Contract: "Authentication", with what the decisions add: whom an evaluation is for, and how callers prove who they are. */
import { apiKey } from "@better-auth/api-key";
import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryDatabase, memoryHost, newKey, suiteHost } from "../memory-host.ts";

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
  org = await host.organization(owner, "own");
  foreignOrg = await host.organization(await host.person("somebody"), "foreign");
});

const PUBLIC: readonly (readonly [string, (context?: object) => [string, object]])[] = [
  ["evaluate", (context) => ["/feature-flags/evaluate", { flagKey: "k", context, contextInResponse: true }]],
  ["evaluate-batch", (context) => ["/feature-flags/evaluate-batch", { flagKeys: ["k"], context }]],
  ["bootstrap", (context) => ["/feature-flags/bootstrap", { context }]],
];

describe.each(PUBLIC)("Authentication, on %s", (_name, ask) => {
  const send = (context?: object, as?: { headers: Record<string, string> }) => {
    const [path, body] = ask(context);
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

  test("with a session the context is the session's user", async () => {
    const { json } = await send(undefined, user);
    expect(json.context).toEqual({ userId: user.id, email: user.email, role: "user" });
  });

  test("a session may repeat what it is, and describe itself", async () => {
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

  test("a session may not claim to be somebody else", async () => {
    await isDenied({ userId: "other" }, user, "userId");
    await isDenied({ email: "other@example.com" }, user, "email");
    await isDenied({ role: "admin" }, user, "role");
  });

  test("organizationId is the active one, or any the user belongs to", async () => {
    expect((await send(undefined, owner)).json.context).toMatchObject({ organizationId: org });
    expect((await send({ organizationId: org }, owner)).status).toBe(200);
    await isDenied({ organizationId: foreignOrg }, owner, "organizationId");
    await isDenied({ organizationId: "nowhere" }, owner, "organizationId");
    // No organization can have such an id.
    expect((await send({ organizationId: "\u0000" }, owner)).status).toBe(400);
    expect((await send({ organizationId: "" }, owner)).json.context).not.toHaveProperty("organizationId");
  });

  test("attributes.organizationRole is ours to set, and cannot be claimed with a session", async () => {
    expect((await send({ attributes: { a: 1 } }, owner)).json.context.attributes).toEqual({
      a: 1,
      organizationRole: "owner",
    });
    await isDenied({ attributes: { organizationRole: "admin" } }, owner, "attributes.organizationRole");
    await isDenied({ attributes: { organizationRole: "owner" } }, user, "attributes.organizationRole");
  });

  test("evaluate-as lets an admin claim, and then takes all of the claim and nothing of the caller", async () => {
    const context = { userId: "someone", attributes: { organizationRole: "owner" } };
    const { status, json } = await send(context, admin);
    expect([status, json.context]).toEqual([200, context]);
  });

  test("without a session the claim is taken as it is", async () => {
    const context = { userId: "u", email: "e", role: "admin", organizationId: "o", anonymousId: "a" };
    expect((await send(context)).json.context).toEqual(context);
  });

  test("a key is no person; with evaluate-as it may claim to be one", async () => {
    const plain = await host.key({ userId: owner.id }, ["read"]);
    expect((await send({ attributes: { a: 1 } }, plain)).json.context).toEqual({ attributes: { a: 1 } });
    await isDenied({ userId: "u" }, plain, "userId");
    const acting = await host.key({ userId: owner.id }, ["evaluate-as"]);
    expect((await send({ userId: "u", organizationId: "any" }, acting)).json.context).toEqual({
      userId: "u",
      organizationId: "any",
    });
  });

  test("a key that is not valid is refused, not taken for nobody", async () => {
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

  test("somebody removed from an organization no longer evaluates in it, though the session remembers", async () => {
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

describe("server calls", () => {
  const body = { flagKey: "k", context: { userId: "anyone" }, contextInResponse: true } as const;

  test("are trusted without headers, and with only a ring or an idempotency key", async () => {
    for (const headers of [undefined, { "x-deployment-ring": "beta" }, { "idempotency-key": "1" }]) {
      const { context } = await host.auth.api.evaluateFeatureFlag({ body, ...(headers && { headers }) });
      expect(context?.userId).toBe("anyone");
    }
  });

  test("with empty headers are nobody's, and not trusted", async () => {
    const key = newKey();
    await host.auth.api.createFeatureFlag({
      body: { key, name: "N", type: "boolean", enabled: true, visibility: "server" },
    });
    const asked = { body: { flagKey: key } };
    expect((await host.auth.api.evaluateFeatureFlag(asked)).reason).toBe("default");
    const empty = await host.auth.api.evaluateFeatureFlag({ ...asked, headers: new Headers() });
    expect(empty.reason).toBe("not_found");
  });

  test("with other headers are whoever these prove", async () => {
    const asUser = host.auth.api.evaluateFeatureFlag({ body, headers: new Headers(user.headers) });
    await expect(asUser).rejects.toMatchObject({ statusCode: 403, body: { code: "PERMISSION_DENIED" } });
    const mixed = new Headers({ ...user.headers, "x-deployment-ring": "beta" });
    await expect(host.auth.api.evaluateFeatureFlag({ body, headers: mixed })).rejects.toMatchObject({
      statusCode: 403,
    });
    const own = await host.auth.api.evaluateFeatureFlag({
      body: { flagKey: "k", contextInResponse: true },
      headers: new Headers(user.headers),
    });
    expect(own.context?.userId).toBe(user.id);
  });

  test("an admin method with headers that prove nobody is 401, with an idempotency key too", async () => {
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

describe("option identity: verified", () => {
  test("a call without session or key may not say who it is for; anonymousId and attributes stay allowed", async () => {
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
    const own = await auth.api.evaluateFeatureFlag({ body: { flagKey: "k", context: { userId: "u" } } });
    expect(own.reason).toBe("not_found");
  });
});

describe("option permission", () => {
  test("replaces roles, access control and the key's own actions; never asked for anonymous or server calls", async () => {
    const asked: string[] = [];
    const { call, person, key, auth } = await memoryHost({
      flags: {
        permission: ({ user: who, key: by, organizationId }, action) => {
          asked.push(`${who?.email ?? by?.id}:${action}:${organizationId}`);
          return action === "read";
        },
      },
    });
    const [boss, anyone] = [await person("boss", "admin"), await person("anyone")];
    const { id } = await auth.api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean" } });
    expect((await call("GET", "/feature-flags/admin/flags")).status).toBe(401);
    expect(asked).toEqual([]);
    expect((await call("GET", "/feature-flags/admin/flags", { as: anyone })).status).toBe(200);
    const refused = await call("PATCH", `/feature-flags/admin/flags/${id}`, {
      as: boss,
      body: { name: "M" },
    });
    expect(refused.status).toBe(403);
    const updating = await key({ userId: boss.id }, ["update"]);
    expect(
      (await call("PATCH", `/feature-flags/admin/flags/${id}`, { as: updating, body: { name: "M" } })).status,
    ).toBe(403);
    expect(asked).toEqual([
      "anyone@example.com:read:undefined",
      "boss@example.com:update:undefined",
      `${updating.id}:update:undefined`,
    ]);
  });

  test("anything but true is a no", async () => {
    const { call, person } = await memoryHost({ flags: { permission: () => "yes" as unknown as boolean } });
    const anyone = await person("anyone");
    expect((await call("GET", "/feature-flags/admin/flags", { as: anyone })).status).toBe(403);
  });

  test("does not reach into organizations the caller has no part in", async () => {
    const { call, person, organization, auth } = await memoryHost({
      flags: { multiTenant: true, permission: () => true },
    });
    const stranger = await person("stranger");
    const home = await organization(await person("owner"), "home");
    const body = { key: "k", name: "N", type: "boolean" as const, organizationId: home };
    const { id } = await auth.api.createFeatureFlag({ body });
    expect((await call("GET", `/feature-flags/admin/flags/${id}`, { as: stranger })).status).toBe(404);
    expect(
      (await call("GET", `/feature-flags/admin/flags?organizationId=${home}`, { as: stranger })).status,
    ).toBe(403);
    expect((await call("GET", "/feature-flags/admin/flags", { as: stranger })).status).toBe(400);
  });
});

describe("server keys", () => {
  test("one without permissions on flags is nobody for administration, and anonymous for evaluation", async () => {
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

  test("one that has used up its requests is told so: 429", async () => {
    const { key } = await host.auth.api.createApiKey({
      body: { userId: admin.id, remaining: 1, permissions: { featureFlag: ["read"] } },
    });
    const as = { headers: { "x-api-key": key } };
    expect((await host.call("GET", "/feature-flags/admin/flags", { as })).status).toBe(200);
    const spent = await host.call("GET", "/feature-flags/admin/flags", { as });
    expect([spent.status, spent.json.code]).toEqual([429, "RATE_LIMIT_EXCEEDED"]);
  });

  test("one over its rate is told when to come back", async () => {
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

  test("a change by one is written down as its own", async () => {
    const writer = await host.key({ userId: admin.id }, ["create"]);
    const { json } = await host.createFlag({ key: newKey(), name: "N", type: "boolean" }, writer);
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({ query: { flagId: json.id } });
    expect(entries[0]?.actor).toEqual({ type: "key", id: writer.id });
  });

  test("where keys stand for sessions, one without permissions on flags evaluates as its owner and administers nothing", async () => {
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

  test("without the key plugin the header means nothing", async () => {
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

describe("multi-tenancy", () => {
  test("lookup is the organization's flag, then the one of all organizations, for its members only", async () => {
    const { auth, evaluate, person, organization, join, key, request } = await memoryHost({
      flags: { multiTenant: true },
    });
    const [ownerA, memberA, ownerB, nobody] = [
      await person("owner-a"),
      await person("member-a"),
      await person("owner-b"),
      await person("nobody"),
    ];
    const [a, b] = [await organization(ownerA, "a"), await organization(ownerB, "b")];
    await join(memberA, a);
    const make = (organizationId: string, flagKey: string, defaultValue: string) =>
      auth.api.createFeatureFlag({
        body: { key: flagKey, name: "N", type: "string", enabled: true, defaultValue, organizationId },
      });
    await make(a, "shared", "A");
    await make(b, "shared", "B");
    await make("", "shared", "all");
    await make("", "global", "all");
    const seen = async (as?: Person, context?: object) => {
      const answer = await evaluate({ flagKey: "shared", context }, as);
      return answer.status === 200 ? answer.json.value : answer.status;
    };
    expect([
      await seen(ownerA),
      await seen(memberA),
      await seen(ownerB),
      await seen(nobody),
      await seen(),
    ]).toEqual(["A", "A", "B", "all", "all"]);
    expect(await seen(undefined, { organizationId: a })).toBe("all");
    expect(await seen(ownerB, { organizationId: a })).toBe(403);
    expect(await seen(nobody, { organizationId: "nowhere" })).toBe(403);
    expect((await evaluate({ flagKey: "global" }, memberA)).json.value).toBe("all");
    const ofA = await key({ userId: ownerA.id, organizationId: a }, []);
    expect([await seen(ofA), await seen(ofA, { organizationId: b })]).toEqual(["A", 403]);
    const ofUser = await key({ userId: ownerA.id }, []);
    expect([
      await seen(ofUser),
      await seen(ofUser, { organizationId: a }),
      await seen(ofUser, { organizationId: b }),
    ]).toEqual(["all", "A", 403]);
    const own = await auth.api.evaluateFeatureFlag({
      body: { flagKey: "shared", context: { organizationId: b } },
    });
    expect(own.value).toBe("B");

    const all = await request("/feature-flags/bootstrap", { select: "value" }, memberA.headers);
    expect(all.json.flags).toEqual({ shared: "A", global: "all" });
    const revision = async (as: Person) =>
      Number((await evaluate({ flagKey: "shared" }, as)).headers.get("x-feature-flags-revision"));
    expect([await revision(ownerA), await revision(nobody)]).toEqual([3, 2]);
    await make("", "another", "all");
    expect([await revision(ownerA), await revision(nobody)]).toEqual([4, 3]);
  });

  test("another organization's flag cannot be told from one that is not there", async () => {
    const { auth, call, person, organization } = await memoryHost({ flags: { multiTenant: true } });
    const [ownerA, ownerB] = [await person("owner-a"), await person("owner-b")];
    const organizationId = await organization(ownerA, "a");
    await organization(ownerB, "b");
    const body = { key: "k", name: "N", type: "boolean" as const, organizationId };
    const { id } = await auth.api.createFeatureFlag({ body });
    const read = async (flagId: string) =>
      (await call("GET", `/feature-flags/admin/flags/${flagId}`, { as: ownerB })).text;
    expect(await read(id)).toBe(await read("01a1df2f-fe18-73b4-a91c-c92afdc697f0"));
  });

  test("an owner evaluates as anybody within the organization, an app admin in every one", async () => {
    const { evaluate, person, organization } = await memoryHost({ flags: { multiTenant: true } });
    const [ownerA, boss] = [await person("owner-a"), await person("boss", "admin")];
    const a = await organization(ownerA, "a");
    const b = await organization(await person("owner-b"), "b");
    const ask = async (as: Person, context: object) => {
      const { status, json } = await evaluate({ flagKey: "k", context, contextInResponse: true }, as);
      return status === 200 ? json.context : status;
    };
    expect(await ask(ownerA, { userId: "u" })).toEqual({ userId: "u", organizationId: a });
    expect(await ask(ownerA, { userId: "u", organizationId: b })).toBe(403);
    expect(await ask(boss, { userId: "u", organizationId: b })).toEqual({ userId: "u", organizationId: b });
    expect(await ask(boss, { userId: "u" })).toEqual({ userId: "u" });
  });

  test('organizationId is required on create; "" is for all organizations, and for app admins', async () => {
    const { auth, createFlag, person, organization } = await memoryHost({ flags: { multiTenant: true } });
    const [ownerA, boss] = [await person("owner-a"), await person("boss", "admin")];
    await organization(ownerA, "a");
    const body = { key: "k", name: "N", type: "boolean" as const };
    await expect(auth.api.createFeatureFlag({ body })).rejects.toMatchObject({ statusCode: 400 });
    expect((await createFlag(body, ownerA)).status).toBe(400);
    expect((await createFlag({ ...body, organizationId: 5 }, ownerA)).status).toBe(400);
    expect((await createFlag(body, await person("nobody"))).status).toBe(403);
    expect((await createFlag({ ...body, organizationId: "" }, ownerA)).status).toBe(403);
    expect((await createFlag({ ...body, organizationId: "" }, boss)).status).toBe(201);
  });
});
