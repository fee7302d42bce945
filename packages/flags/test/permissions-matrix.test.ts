/** Checks every operation for every kind of caller and every tenant, generated from the table of routes. */
import { featureFlagStatements, featureFlags } from "@halyard/flags";
import { anonymous, multiSession } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { adminAc, defaultStatements, userAc } from "better-auth/plugins/admin/access";
import {
  memberAc,
  adminAc as organizationAdminAc,
  defaultStatements as organizationStatements,
  ownerAc,
} from "better-auth/plugins/organization/access";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "./host.ts";
import { suiteHost } from "./memory-host.ts";
import {
  ALL_ACTIONS,
  callByMethod,
  callByUrl,
  demote,
  endOwners,
  expectedStatus,
  fillTenant,
  type MatrixCaller,
  maySee,
  OK,
  type Outcome,
  RECIPES,
  ROUTE_NAMES,
  ROUTES,
  type RouteName,
  type Tenant,
} from "./permissions-matrix.ts";
import { cookieOf } from "./unusual-callers.ts";

const ac = createAccessControl({ ...defaultStatements, ...featureFlagStatements });
const organizationAc = createAccessControl({ ...organizationStatements, ...featureFlagStatements });

/** One role per action, in addition to the built-in roles. */
const appRoles = {
  admin: ac.newRole({ ...adminAc.statements }),
  user: ac.newRole({ ...userAc.statements }),
  ...Object.fromEntries(
    ALL_ACTIONS.map((action) => [`may-${action}`, ac.newRole({ featureFlag: [action] })]),
  ),
};
const organizationRoles = {
  owner: organizationAc.newRole({ ...ownerAc.statements }),
  admin: organizationAc.newRole({ ...organizationAdminAc.statements }),
  member: organizationAc.newRole({ ...memberAc.statements }),
  flagger: organizationAc.newRole({ ...memberAc.statements, featureFlag: ["read", "update"] }),
};

describe("the table of routes", () => {
  const { endpoints } = featureFlags();

  test("has an entry for every endpoint of the plugin, and no others", () => {
    expect(Object.keys(ROUTES).sort()).toEqual(Object.keys(endpoints).sort());
  });

  test.each(ROUTE_NAMES)("lists the path and the method of %s", (name) => {
    const route = ROUTES[name];
    const { path, options } = endpoints[name];
    expect([options.method, path]).toEqual([route.method, route.path]);
  });

  test("requires the right action for each operation", () => {
    // Derived from the names, not from the table, because the matrix below only checks that the table is enforced.
    const actionOf = (name: string): string => {
      if (
        /^(?:evaluate|bootstrap|openOfrep)|Console|(?:Health|Readiness|Event|EventBatch|Exposures)$/.test(
          name,
        )
      )
        return "public";
      if (name.includes("Audit") || name.startsWith("revert")) return "audit";
      if (/^(?:list|get|explain)/.test(name)) return "read";
      if (name.includes("Override")) return "override";
      if (/Rule|Segment|^plan|^apply/.test(name)) return "update";
      return name.replace(/^(create|update|delete)FeatureFlag$/, "$1");
    };
    for (const name of ROUTE_NAMES) expect(ROUTES[name].action, name).toBe(actionOf(name));
  });

  test("protects metrics and every route under admin/, and no others", () => {
    for (const name of ROUTE_NAMES) {
      const route = ROUTES[name];
      const isGuarded = /^\/feature-flags\/(?:admin\/|metrics$)/.test(route.path);
      expect(route.action === "public", name).toBe(!isGuarded);
      expect(RECIPES[name].target === "public", name).toBe(route.action === "public");
    }
  });
});

/** Calls the operation by URL and as a server method. Both must have the same result. */
async function outcomes(
  host: Host,
  name: RouteName,
  caller: MatrixCaller,
  freshInput: () => Promise<Parameters<typeof callByUrl>[2]>,
): Promise<Outcome[]> {
  const byUrl = await callByUrl(host, name, await freshInput(), caller);
  const byMethod = await callByMethod(host, name, await freshInput(), caller);
  return [byUrl, byMethod];
}

const rounded = (status: number) => (status < 300 ? OK : status);
const destroys = (name: RouteName) => /^(?:delete|apply|revert)/.test(name);

describe("one tenant", () => {
  let host: Host;
  let tenant: Tenant;
  const callers: MatrixCaller[] = [];
  const names = [
    "nobody",
    "user",
    "owner",
    "admin",
    ...ALL_ACTIONS.map((action) => `may-${action}`),
    "key-none",
    "key-all",
    "key for a service",
    "key of a banned user",
    "key of a removed user",
    "key made by an admin",
    "key made by an admin who may only read now",
    "key made by an admin who may do nothing now",
    "key made by an admin who is banned now",
    "key made by an admin who is removed now",
    "key made by an admin whom another admin impersonates",
  ];
  suiteHost({ admin: { ac, roles: appRoles } }, async (started) => {
    host = started;
    tenant = await fillTenant(host, undefined, "the application");
    callers.push({ name: "nobody", everywhere: [], within: {} });
    callers.push({ name: "user", as: await host.person("user"), everywhere: [], within: {} });
    const owner = await host.person("owner");
    await host.organization(owner, "own");
    callers.push({ name: "owner", as: owner, everywhere: [], within: {} });
    callers.push({
      name: "admin",
      as: await host.person("admin", "admin"),
      everywhere: ALL_ACTIONS,
      within: {},
    });
    for (const action of ALL_ACTIONS) {
      const name = `may-${action}`;
      callers.push({ name, as: await host.person(name, name), everywhere: [action], within: {} });
    }
    callers.push({
      name: "key-none",
      as: await host.key({ userId: owner.id }, []),
      everywhere: [],
      within: {},
    });
    callers.push({
      name: "key-all",
      as: await host.key({ userId: owner.id }, ALL_ACTIONS),
      everywhere: ALL_ACTIONS,
      within: {},
    });
    const root = await host.person("root", "admin");
    const made = async (by: string, isPersonal = true, role = "admin") => {
      const maker = await host.person(by, role);
      return { maker, as: await host.key({ userId: maker.id, isPersonal }, ALL_ACTIONS) };
    };
    const [ofBanned, ofRemoved] = [await made("b1", false, "user"), await made("r1", false, "user")];
    const [byAdmin, byReader, byNobody] = [await made("a2"), await made("a3"), await made("a4")];
    const [byBanned, byRemoved, byImpersonated] = [await made("b2"), await made("r2"), await made("i2")];
    await demote(host, root, byReader.maker.id, "may-read");
    await demote(host, root, byNobody.maker.id, "user");
    await endOwners(host, root, {
      banned: [ofBanned.maker, byBanned.maker],
      removed: [ofRemoved.maker, byRemoved.maker],
    });
    // The impersonation needs no admin as its target.
    await demote(host, root, byImpersonated.maker.id, "may-read");
    const body = { userId: byImpersonated.maker.id };
    expect((await host.call("POST", "/admin/impersonate-user", { as: root, body })).status).toBe(200);
    const within = {};
    const ended = { everywhere: [], within, hasEnded: true };
    const service = await host.key({ userId: "service:billing" }, ALL_ACTIONS);
    callers.push(
      { name: "key for a service", as: service, everywhere: ALL_ACTIONS, within },
      { name: "key of a banned user", as: ofBanned.as, ...ended },
      { name: "key of a removed user", as: ofRemoved.as, ...ended },
      { name: "key made by an admin", as: byAdmin.as, everywhere: ALL_ACTIONS, within },
      {
        name: "key made by an admin who may only read now",
        as: byReader.as,
        everywhere: ["read"],
        within,
      },
      { name: "key made by an admin who may do nothing now", as: byNobody.as, everywhere: [], within },
      { name: "key made by an admin who is banned now", as: byBanned.as, ...ended },
      { name: "key made by an admin who is removed now", as: byRemoved.as, ...ended },
      {
        name: "key made by an admin whom another admin impersonates",
        as: byImpersonated.as,
        everywhere: ["read"],
        within,
      },
    );
  });

  describe.each(ROUTE_NAMES)("%s", (routeName) => {
    test.each(names)("as %s", async (callerName) => {
      const caller = callers.find(({ name }) => name === callerName);
      if (caller === undefined) throw new Error(callerName);
      const expected = expectedStatus(routeName, caller, tenant, { multiTenant: false, named: false });
      const freshInput = async () => {
        const target =
          destroys(routeName) && expected === OK ? await fillTenant(host, undefined, "x", routeName) : tenant;
        return RECIPES[routeName].input(target, {});
      };
      for (const { status, text } of await outcomes(host, routeName, caller, freshInput)) {
        expect(rounded(status), text).toBe(expected);
        if (expected !== OK) {
          const isOfrep = routeName.includes("Ofrep");
          expect(isOfrep || JSON.parse(text).code === "PERMISSION_DENIED", text).toBe(true);
          expect(text).not.toContain(tenant.canary);
        }
      }
    });
  });

  test("refused requests changed nothing", async () => {
    const { entries } = await host.auth.api.listFeatureFlagAuditEntries({
      query: { flagId: tenant.flagId, limit: 200 },
    });
    const actors = new Set(entries.map(({ actor }) => actor.id));
    for (const caller of callers.filter(({ everywhere }) => everywhere.length === 0)) {
      expect(actors.has(caller.as?.id ?? "nobody")).toBe(false);
    }
  });
});

describe("many tenants", () => {
  let host: Host;
  const tenants: Record<string, Tenant> = {};
  const callers: MatrixCaller[] = [];
  const tenantNames = ["a", "b", "all"];
  const callerNames = [
    "nobody",
    "stranger",
    "owner-a",
    "admin-a",
    "flagger-a",
    "member-a",
    "owner-b",
    "app-admin",
    "app-reader",
    "key-of-a",
    "reading-key-of-a",
    "key-of-owner-a",
    "admin who impersonates owner-a",
    "banned owner of a",
    "guest",
    "stranger with a second session of owner-a",
    "key of app-admin",
    "reading key of app-admin",
    "key of a service",
    "key of a banned owner of a",
    "key of a removed owner of a",
    "key made by app-admin",
    "key made by an admin who is only a member of a now",
    "key made by an admin who is banned now",
    "key made by an admin who is removed now",
  ];
  const organization = { ac: organizationAc, roles: organizationRoles };
  suiteHost(
    {
      admin: { ac, roles: appRoles },
      organization,
      flags: { multiTenant: true },
      plugins: [anonymous(), multiSession()],
    },
    async (started) => {
      host = started;
      const [ownerA, ownerB] = [await host.person("owner-a"), await host.person("owner-b")];
      const [a, b] = [await host.organization(ownerA, "a"), await host.organization(ownerB, "b")];
      const member = async (name: string, role: string) => {
        const person = await host.person(name);
        await host.join(person, a, role);
        return person;
      };
      tenants["a"] = await fillTenant(host, a, "a");
      tenants["b"] = await fillTenant(host, b, "b");
      tenants["all"] = await fillTenant(host, "", "all");
      const everywhere: readonly [] = [];
      const signIn = async (path: string, body: object, as?: Person): Promise<Person> => {
        const { status, headers, text, json } = await host.call("POST", path, { as, body });
        if (status !== 200) throw new Error(text);
        return { id: json.user.id, email: "", headers: { cookie: cookieOf(headers.getSetCookie()) } };
      };
      const root = await host.person("root", "admin");
      const banned = await member("banned-owner-a", "owner");
      await host.call("POST", "/admin/ban-user", { as: root, body: { userId: banned.id } });
      const password = "correct horse battery";
      const first = await signIn("/sign-in/email", { email: ownerA.email, password });
      const { email } = await host.person("another-stranger");
      const second = await signIn("/sign-in/email", { email, password });
      const kept = first.headers["cookie"]?.split("; ").find((pair) => pair.includes("_multi-"));
      if (kept === undefined) throw new Error("The first session has no cookie of its own.");
      const key = (userId: string, actions = ALL_ACTIONS) => host.key({ userId }, actions);
      const made = (userId: string) => host.key({ userId, isPersonal: true }, ALL_ACTIONS);
      const [banned2, removed2] = [await member("banned-2", "owner"), await member("removed-2", "owner")];
      const [demoted, bannedAdmin, removedAdmin] = [
        await host.person("demoted", "admin"),
        await host.person("banned-admin", "admin"),
        await host.person("removed-admin", "admin"),
      ];
      await host.join(demoted, a, "member");
      const keys = {
        ofBanned: await key(banned2.id),
        ofRemoved: await key(removed2.id),
        byDemoted: await made(demoted.id),
        byBanned: await made(bannedAdmin.id),
        byRemoved: await made(removedAdmin.id),
      };
      await demote(host, root, demoted.id, "user");
      await endOwners(host, root, { banned: [banned2, bannedAdmin], removed: [removed2, removedAdmin] });
      const ended = { everywhere, within: {}, hasEnded: true };
      callers.push(
        { name: "key of app-admin", as: await key(root.id), everywhere: ALL_ACTIONS, within: {} },
        {
          name: "reading key of app-admin",
          as: await key(root.id, ["read"]),
          everywhere: ["read"],
          within: {},
        },
        { name: "key of a service", as: await key("service:ci"), everywhere: ALL_ACTIONS, within: {} },
        { name: "key of a banned owner of a", as: keys.ofBanned, ...ended },
        { name: "key of a removed owner of a", as: keys.ofRemoved, ...ended },
        { name: "key made by app-admin", as: await made(root.id), everywhere: ALL_ACTIONS, within: {} },
        {
          name: "key made by an admin who is only a member of a now",
          as: keys.byDemoted,
          everywhere,
          within: { [a]: [] },
        },
        { name: "key made by an admin who is banned now", as: keys.byBanned, ...ended },
        { name: "key made by an admin who is removed now", as: keys.byRemoved, ...ended },
      );
      callers.push(
        { name: "nobody", everywhere, within: {} },
        { name: "stranger", as: await host.person("stranger"), everywhere, within: {} },
        { name: "owner-a", as: ownerA, everywhere, within: { [a]: ALL_ACTIONS }, home: a },
        {
          name: "admin-a",
          as: await member("admin-a", "admin"),
          everywhere,
          within: { [a]: ALL_ACTIONS },
          home: a,
        },
        {
          name: "flagger-a",
          as: await member("flagger-a", "flagger"),
          everywhere,
          within: { [a]: ["read", "update"] },
          home: a,
        },
        {
          name: "member-a",
          as: await member("member-a", "member"),
          everywhere,
          within: { [a]: [] },
          home: a,
        },
        { name: "owner-b", as: ownerB, everywhere, within: { [b]: ALL_ACTIONS }, home: b },
        {
          name: "app-admin",
          as: await host.person("app-admin", "admin"),
          everywhere: ALL_ACTIONS,
          within: {},
        },
        {
          name: "app-reader",
          as: await host.person("app-reader", "may-read"),
          everywhere: ["read"],
          within: {},
        },
        {
          name: "key-of-a",
          as: await host.key({ userId: ownerA.id, organizationId: a }, ALL_ACTIONS),
          everywhere,
          within: { [a]: ALL_ACTIONS },
          home: a,
        },
        {
          name: "reading-key-of-a",
          as: await host.key({ userId: ownerA.id, organizationId: a }, ["read"]),
          everywhere,
          within: { [a]: ["read"] },
          home: a,
        },
        {
          name: "key-of-owner-a",
          as: await host.key({ userId: ownerA.id }, ALL_ACTIONS),
          everywhere,
          within: { [a]: ALL_ACTIONS },
        },
        {
          name: "admin who impersonates owner-a",
          as: await signIn("/admin/impersonate-user", { userId: ownerA.id }, root),
          everywhere,
          within: { [a]: ALL_ACTIONS },
        },
        { name: "banned owner of a", as: banned, isSignedOut: true, everywhere, within: {} },
        { name: "guest", as: await signIn("/sign-in/anonymous", {}), everywhere, within: {} },
        {
          name: "stranger with a second session of owner-a",
          as: { ...second, headers: { cookie: `${second.headers["cookie"]}; ${kept}` } },
          everywhere,
          within: {},
        },
      );
    },
  );

  const find = (callerName: string, tenantName: string) => {
    const caller = callers.find(({ name }) => name === callerName);
    const tenant = tenants[tenantName];
    if (caller === undefined || tenant === undefined) throw new Error(`${callerName} ${tenantName}`);
    return { caller, tenant };
  };

  function expectNoCanary(routeName: RouteName, caller: MatrixCaller, text: string) {
    for (const other of Object.values(tenants)) {
      if (!maySee(routeName, caller, other, true)) expect(text).not.toContain(other.canary);
    }
  }

  const cells = callerNames.flatMap((caller) => tenantNames.map((tenant) => [caller, tenant] as const));

  describe.each(ROUTE_NAMES)("%s", (routeName) => {
    test.each(cells)("as %s, on the flags of %s", async (callerName, tenantName) => {
      const { caller, tenant } = find(callerName, tenantName);
      const expected = expectedStatus(routeName, caller, tenant, { multiTenant: true, named: true });
      const freshInput = async () => {
        const spent = destroys(routeName) && expected === OK;
        const target = spent ? await fillTenant(host, tenant.organizationId, "spent", routeName) : tenant;
        return RECIPES[routeName].input(target, { organizationId: tenant.organizationId });
      };
      for (const { status, text } of await outcomes(host, routeName, caller, freshInput)) {
        expect(rounded(status), text).toBe(expected);
        if (text !== "") expectNoCanary(routeName, caller, text);
      }
    });
  });

  const unnamed = ROUTE_NAMES.filter((name) => ["list", "make"].includes(RECIPES[name].target));
  describe.each(unnamed)("%s, without naming an organization", (routeName) => {
    test.each(callerNames)("as %s", async (callerName) => {
      const { caller, tenant } = find(callerName, "a");
      const expected = expectedStatus(routeName, caller, tenant, { multiTenant: true, named: false });
      const freshInput = async () => RECIPES[routeName].input(tenant, {});
      for (const { status, text } of await outcomes(host, routeName, caller, freshInput)) {
        expect(rounded(status), text).toBe(expected);
        expectNoCanary(routeName, caller, text);
      }
    });
  });

  describe("path variants do not bypass permissions", () => {
    const variants: readonly (readonly [string, (path: string) => string])[] = [
      ["a doubled slash", (path) => path.replace("/feature-flags/", "/feature-flags//")],
      ["a doubled slash further on", (path) => path.replace("/admin/", "/admin//")],
      ["capitals", (path) => path.replace("feature-flags", "Feature-Flags")],
      ["capitals further on", (path) => path.replace("/admin/", "/Admin/")],
      ["an encoded letter", (path) => path.replace("/admin/", "/%61dmin/")],
      ["an encoded slash", (path) => path.replace("/admin/", "/admin%2F")],
      ["a slash at the end", (path) => `${path}/`],
      ["a detour", (path) => path.replace("/admin/", "/x/../admin/")],
      ["a parameter", (path) => `${path};x=1`],
    ];
    test.each(variants)("%s", async (_name, vary) => {
      for (const routeName of ROUTE_NAMES) {
        for (const callerName of ["nobody", "stranger", "owner-b"]) {
          const { caller, tenant } = find(callerName, "a");
          const input = RECIPES[routeName].input(tenant, { organizationId: tenant.organizationId });
          const outcome = await callByUrl(host, routeName, input, caller, vary);
          const usual = expectedStatus(routeName, caller, tenant, { multiTenant: true, named: true });
          expect([404, usual], `${routeName} ${callerName}`).toContain(rounded(outcome.status));
          expect(outcome.text).not.toContain(tenant.canary);
        }
      }
    });
  });
});
