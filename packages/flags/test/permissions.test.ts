/** Checks the permissions of server calls, roles, API keys and sessions. */
import { apiKey } from "@better-auth/api-key";
import { featureFlagStatements, featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { organization } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { adminAc, defaultStatements, userAc } from "better-auth/plugins/admin/access";
import {
  adminAc as adminOfOrganization,
  memberAc,
  defaultStatements as organizationStatements,
  ownerAc,
} from "better-auth/plugins/organization/access";
import { describe, expect, test } from "vitest";
import { flag, memoryDatabase, memoryHost } from "./memory-host.ts";

describe("a server call", () => {
  test("is trusted without headers, and acts for the caller of its headers otherwise", async () => {
    const { auth, person } = await memoryHost();
    const [admin, user] = [await person("admin", "admin"), await person("user")];
    const create = (key: string, headers?: Headers) =>
      auth.api.createFeatureFlag({ body: flag({ key }), ...(headers && { headers }) });
    expect((await create("a")).key).toBe("a");
    expect((await create("b", new Headers(admin.headers))).key).toBe("b");
    await expect(create("c", new Headers(user.headers))).rejects.toMatchObject({
      statusCode: 403,
      body: { code: "PERMISSION_DENIED" },
    });
    await expect(create("d", new Headers())).rejects.toMatchObject({
      statusCode: 401,
      body: { code: "PERMISSION_DENIED" },
    });
  });

  test("gets the same errors as over HTTP", async () => {
    const { auth, createFlag, person } = await memoryHost();
    const admin = await person("admin", "admin");
    const bad = flag({ defaultValue: 5 });
    const overHttp = await createFlag(bad, admin);
    expect(overHttp.status).toBe(400);
    // @ts-expect-error a value that no flag type permits
    const method = auth.api.createFeatureFlag({ body: { ...bad, defaultValue: () => 5 } });
    await expect(method).rejects.toMatchObject({ statusCode: 400, body: { code: "VALIDATION_ERROR" } });
    await expect(auth.api.createFeatureFlag({ body: bad })).rejects.toMatchObject({
      statusCode: 400,
      body: overHttp.json,
    });
  });

  test("may evaluate for any user", async () => {
    const { auth } = await memoryHost();
    const context = { userId: "u1", email: "u1@example.com", role: "admin" };
    const result = await auth.api.evaluateFeatureFlag({
      body: { flagKey: "k", context, contextInResponse: true },
    });
    expect(result.context).toEqual(context);
  });

  test("cannot change a flag by mutating a returned value", async () => {
    const { auth } = await memoryHost();
    await auth.api.createFeatureFlag({
      body: flag({ type: "json", enabled: true, defaultValue: { a: [1] } }),
    });
    const { value } = await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } });
    expect(() => (value as { a: number[] }).a.push(2)).toThrow(TypeError);
    expect((await auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } })).value).toEqual({ a: [1] });
  });
});

describe("organization roles created at run time", () => {
  test("grant their actions in their organization only, and none immediately after they are removed", async () => {
    const ac = createAccessControl({ ...organizationStatements, ...featureFlagStatements });
    const { person, organization, join, call, auth, db } = await memoryHost({
      organization: {
        ac,
        roles: {
          owner: ac.newRole(ownerAc.statements),
          admin: ac.newRole(adminOfOrganization.statements),
          member: ac.newRole(memberAc.statements),
        },
        dynamicAccessControl: { enabled: true },
      },
      flags: { multiTenant: true },
    });
    const [owner, reader, other] = [await person("owner"), await person("reader"), await person("other")];
    const [home, foreign] = [await organization(owner, "home"), await organization(other, "foreign")];
    await join(reader, home);
    const setRole = (organizationId: string, permission: string) =>
      db
        .prepare(
          "insert into organizationRole (id, organizationId, role, permission, createdAt) values (?, ?, 'reader', ?, ?)",
        )
        .run(crypto.randomUUID(), organizationId, permission, new Date().toISOString());
    db.prepare("update member set role = 'member,reader' where userId = ?").run(reader.id);
    const { id } = await auth.api.createFeatureFlag({ body: { ...flag(), organizationId: home } });
    const path = `/feature-flags/admin/flags/${id}`;
    const read = async () => (await call("GET", path, { as: reader })).status;
    expect(await read()).toBe(403);
    setRole(foreign, JSON.stringify({ featureFlag: ["read"] }));
    expect(await read()).toBe(403);
    setRole(home, "not JSON");
    expect(await read()).toBe(403);
    db.exec("delete from organizationRole");
    setRole(home, JSON.stringify({ featureFlag: ["read"] }));
    expect(await read()).toBe(200);
    expect((await call("PATCH", path, { as: reader, body: { name: "M" } })).status).toBe(403);
    db.exec("delete from organizationRole");
    expect(await read()).toBe(403);
  });
});

describe("an API key with an ambiguous owner", () => {
  test("has no permissions, because with serial ids a user and an organization may have the same id", async () => {
    const db = memoryDatabase();
    const auth = betterAuth({
      baseURL: "http://localhost:3000",
      database: db,
      secret: "a secret that is only good enough for tests, which is all it does",
      advanced: { database: { generateId: "serial" } },
      emailAndPassword: { enabled: true },
      logger: { disabled: true },
      plugins: [
        organization(),
        apiKey([
          { configId: "default", rateLimit: { enabled: false } },
          { configId: "org", references: "organization", rateLimit: { enabled: false } },
        ]),
        featureFlags({ multiTenant: true }),
      ],
    });
    await (await getMigrations(auth.options)).runMigrations();
    const sign = async (name: string) =>
      (
        await auth.api.signUpEmail({
          body: { email: `${name}@example.com`, password: "correct horse battery", name },
        })
      ).user;
    const [first, second] = [await sign("first"), await sign("second")];
    const [home, others] = await Promise.all(
      ["own", "others"].map((name) =>
        auth.api.createOrganization({ body: { name, slug: name, userId: second.id } }),
      ),
    );
    expect([first.id, home?.id]).toEqual(["1", "1"]);
    const actions = { featureFlag: ["read"] };
    const { key } = await auth.api.createApiKey({
      body: { userId: second.id, configId: "org", organizationId: home?.id, permissions: actions },
    });
    for (const organizationId of [home?.id, others?.id, "7", "x"]) {
      const list = auth.api.listFeatureFlags({ query: { organizationId }, headers: { "x-api-key": key } });
      await expect(list).rejects.toMatchObject({ statusCode: 403 });
    }
  });
});

describe("permissions", () => {
  test("a role has the actions of its access control, alone or together with other roles", async () => {
    const ac = createAccessControl({ ...defaultStatements, featureFlag: ["create", "evaluate-as"] });
    const { person, createFlag, evaluate, db } = await memoryHost({
      admin: {
        ac,
        roles: {
          admin: ac.newRole({ ...adminAc.statements }),
          user: ac.newRole({ ...userAc.statements }),
          author: ac.newRole({ featureFlag: ["create"] }),
          support: ac.newRole({ featureFlag: ["evaluate-as"] }),
        },
      },
    });
    const claim = { flagKey: "k", context: { userId: "other" } };
    const author = await person("author", "user,author");
    expect((await createFlag(flag({ key: "a" }), author)).status).toBe(201);
    expect((await evaluate(claim, author)).status).toBe(403);
    const support = await person("support", "support");
    expect((await createFlag(flag({ key: "b" }), support)).status).toBe(403);
    expect((await evaluate(claim, support)).status).toBe(200);
    const byName = await person("admin", "user,admin");
    expect((await createFlag(flag({ key: "c" }), byName)).status).toBe(201);
    const nobody = await person("nobody");
    for (const role of ["Admin", "administrator", " admin", "constructor", "__proto__", ""]) {
      db.prepare("update user set role = ? where id = ?").run(role, nobody.id);
      expect((await createFlag(flag({ key: "d" }), nobody)).status).toBe(403);
    }
  });

  test("a role field of the host grants nothing without the admin plugin", async () => {
    const db = memoryDatabase();
    const auth = betterAuth({
      baseURL: "http://localhost:3000",
      database: db,
      secret: "a secret that is only good enough for tests, which is all it does",
      emailAndPassword: { enabled: true },
      user: { additionalFields: { role: { type: "string", required: false } } },
      logger: { disabled: true },
      plugins: [featureFlags()],
    });
    await (await getMigrations(auth.options)).runMigrations();
    const { headers } = await auth.api.signUpEmail({
      body: { email: "a@example.com", password: "correct horse battery", name: "A", role: "admin" },
      returnHeaders: true,
    });
    const cookie = headers.getSetCookie().map((line) => line.split(";", 1)[0]);
    await expect(
      auth.api.createFeatureFlag({ body: flag(), headers: { cookie: cookie.join("; ") } }),
    ).rejects.toMatchObject({ statusCode: 403, body: { code: "PERMISSION_DENIED" } });
    expect((await auth.api.createFeatureFlag({ body: flag() })).key).toBe("k");
  });

  test("a removed role takes effect immediately, even if the cookie still contains it", async () => {
    const { person, createFlag, evaluate, db } = await memoryHost({ cookieCache: true });
    const admin = await person("admin", "admin");
    expect((await createFlag(flag(), admin)).status).toBe(201);
    db.exec("update user set role = 'user'");
    expect((await createFlag(flag({ key: "other" }), admin)).status).toBe(403);
    expect((await evaluate({ flagKey: "k", context: { userId: "other" } }, admin)).status).toBe(403);
  });

  test("a user who was banned by SQL has no session any more", async () => {
    const { db, person, evaluate, call, auth } = await memoryHost();
    const admin = await person("admin", "admin");
    await auth.api.createFeatureFlag({ body: flag({ key: "b", enabled: true }) });
    const whose = async () =>
      (await evaluate({ flagKey: "b", contextInResponse: true }, admin)).json.context.userId;
    expect(await whose()).toBe(admin.id);
    db.prepare("update user set banned = 1 where id = ?").run(admin.id);
    expect(await whose()).toBeUndefined();
    expect((await call("GET", "/feature-flags/admin/flags", { as: admin })).status).toBe(401);
    db.prepare("update user set banExpires = ? where id = ?").run(new Date(0).toISOString(), admin.id);
    expect(await whose()).toBe(admin.id);
  });

  test("a forged or expired session is not authenticated", async () => {
    const { person, createFlag, db } = await memoryHost();
    const admin = await person("admin", "admin");
    const forged = { ...admin, headers: { cookie: "better-auth.session_token=forged.abc" } };
    expect((await createFlag(flag(), forged)).status).toBe(401);
    db.exec("delete from session");
    expect((await createFlag(flag(), admin)).status).toBe(401);
  });

  test("a bearer token is a session", async () => {
    const { auth, person, request } = await memoryHost();
    const { email } = await person("admin", "admin");
    const { token } = await auth.api.signInEmail({ body: { email, password: "correct horse battery" } });
    const created = await request("/feature-flags/admin/flags", flag(), {
      authorization: `Bearer ${token}`,
    });
    expect(created.status).toBe(201);
  });
});
