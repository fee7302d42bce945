import type { Caller, KeyOwner } from "@halyard/sessions/plugin";
import { createAccessControl } from "better-auth/plugins/access";
import { admin } from "better-auth/plugins/admin";
import { defaultStatements, userAc } from "better-auth/plugins/admin/access";
import { type OrganizationOptions, organization } from "better-auth/plugins/organization";
import { describe, expect, test } from "vitest";
import type { Call } from "../call.ts";
import type { FeatureFlagsOptions } from "../options.ts";
import { type FlagAction, featureFlagStatements } from "./actions.ts";
import { requireMultiTenant } from "./multi-tenant.ts";
import { judge } from "./permission.ts";

const ac = createAccessControl({ ...defaultStatements, ...featureFlagStatements });
const reader = ac.newRole({ featureFlag: ["read"] });

interface Setting {
  readonly flags?: Pick<FeatureFlagsOptions, "multiTenant" | "permission">;
  /** Options of the admin plugin; null without it. */
  readonly admin?: Parameters<typeof admin>[0] | null;
  /** Options of the organization plugin; null without it. */
  readonly organization?: OrganizationOptions | null;
  /** The caller's role in the organization `acme`. Empty for a tie without a role, as keys have. */
  readonly roleInAcme?: string;
  /** Rows of roles that were created at run time. */
  readonly storedRoles?: readonly { organizationId: string; role: string; permission: string }[];
  readonly headers?: HeadersInit;
}

/** A call on an application with these plugins. */
function callOf(setting: Setting): Call {
  const { flags = {}, roleInAcme, storedRoles = [] } = setting;
  const plugins = [
    ...(setting.admin === null ? [] : [admin(setting.admin)]),
    ...(setting.organization === null ? [] : [organization(setting.organization)]),
  ];
  const adapter = {
    async findMany({ model, where }: { model: string; where: { field: string; value: unknown }[] }) {
      if (storedRoles.length === 0) throw new Error("The database is down.");
      expect([model, where.map(({ field }) => field)]).toEqual(["organizationRole", ["organizationId"]]);
      return storedRoles.filter(({ organizationId }) => organizationId === where[0]?.value);
    },
  };
  const ties = new Map(
    roleInAcme === undefined ? [] : [["acme", roleInAcme === "" ? {} : { role: roleInAcme }]],
  );
  return {
    service: { options: flags },
    request: { context: { options: { plugins }, adapter }, headers: new Headers(setting.headers) },
    identity: {
      async tieTo(_caller: Caller, tenant: string) {
        if (tenant === "") throw new Error("Global flags belong to no organization.");
        return ties.get(tenant);
      },
    },
  } as unknown as Call;
}

const userWith = (role?: string): Caller => ({
  kind: "user",
  user: { id: "u", email: "u@example.com", ...(role !== undefined && { role }) },
});
const keyOf = (owner: KeyOwner, actions: string[], isPersonal = false): Caller => ({
  kind: "key",
  key: { id: "k", actions, ownerId: "u", owner, isPersonal },
});
const ownedBy = (role?: string): KeyOwner => ({
  kind: "user",
  user: { id: "u", email: "u@example.com", ...(role !== undefined && { role }) },
});
const keyWith = (...actions: string[]): Caller => keyOf({ kind: "organization" }, actions);
const judged = (setting: Setting, caller: Caller, action: FlagAction, tenant = "") =>
  judge(callOf(setting), caller, action, tenant);

const TENANTS = { multiTenant: true } as const;

describe("the application's role", () => {
  test("of an administrator grants every action, that of others none", async () => {
    for (const action of featureFlagStatements.featureFlag) {
      expect(await judged({}, userWith("admin"), action)).toBe("granted");
      expect(await judged({}, userWith("user"), action)).toBe("denied");
      expect(await judged({}, userWith(), action)).toBe("denied");
      expect(await judged({}, userWith("support,admin"), action)).toBe("granted");
    }
  });

  test("grants nothing without the admin plugin, also where there is no plugin at all", async () => {
    expect(await judged({ admin: null }, userWith("admin"), "read")).toBe("denied");
    const call = callOf({});
    const options = call.request.context.options as { plugins?: unknown };
    delete options.plugins;
    expect(await judge(call, userWith("admin"), "read", "")).toBe("denied");
  });

  test("grants what its access control grants, and a user without a role has the default role", async () => {
    const roles = { user: userAc, reader };
    expect(await judged({ admin: { ac, roles } }, userWith("reader"), "read")).toBe("granted");
    expect(await judged({ admin: { ac, roles } }, userWith("reader"), "update")).toBe("denied");
    expect(await judged({ admin: { ac, roles } }, userWith("toString"), "read")).toBe("denied");
    expect(await judged({ admin: { ac, roles } }, userWith(), "read")).toBe("denied");
    expect(await judged({ admin: { ac, roles, defaultRole: "reader" } }, userWith(), "read")).toBe("granted");
    const byUsers = { ac, roles: { user: reader } };
    expect(await judged({ admin: byUsers }, userWith(), "read")).toBe("granted");
  });

  test("that grants any action shows all tenants, and grants only its actions there", async () => {
    const setting: Setting = { flags: TENANTS, admin: { ac, roles: { user: userAc, reader } } };
    expect(await judged(setting, userWith("reader"), "read", "acme")).toBe("granted");
    expect(await judged(setting, userWith("reader"), "update", "acme")).toBe("denied");
    expect(await judged(setting, userWith("reader"), "update", "")).toBe("denied");
    expect(await judged(setting, userWith("user"), "read", "acme")).toBe("hidden");
    expect(await judged(setting, userWith("user"), "read", "")).toBe("hidden");
  });
});

describe("a member of an organization", () => {
  test("who is its owner or administrator has every action there, and none elsewhere", async () => {
    for (const roleInAcme of ["owner", "admin", "member,owner"]) {
      const setting: Setting = { flags: TENANTS, roleInAcme };
      expect(await judged(setting, userWith(), "delete", "acme")).toBe("granted");
      expect(await judged(setting, userWith(), "delete", "other")).toBe("hidden");
      expect(await judged(setting, userWith(), "delete", "")).toBe("hidden");
    }
    expect(await judged({ flags: TENANTS, roleInAcme: "member" }, userWith(), "read", "acme")).toBe("denied");
  });

  test("has no action by the organization without the option multiTenant", async () => {
    expect(await judged({ roleInAcme: "owner" }, userWith(), "read", "acme")).toBe("denied");
    expect(await judged({ flags: TENANTS, roleInAcme: "" }, userWith(), "read", "acme")).toBe("denied");
  });

  test("has the actions of the role's access control, also without options of the plugin", async () => {
    const setting: Setting = {
      flags: TENANTS,
      organization: { ac, roles: { reader } },
      roleInAcme: "reader",
    };
    expect(await judged(setting, userWith(), "read", "acme")).toBe("granted");
    expect(await judged(setting, userWith(), "update", "acme")).toBe("denied");
    const without: Setting = { flags: TENANTS, organization: null, roleInAcme: "owner" };
    expect(await judged(without, userWith(), "read", "acme")).toBe("granted");
  });

  test("has the actions of roles that were created at run time, where those are switched on", async () => {
    const permission = JSON.stringify({ featureFlag: ["read"] });
    const storedRoles = [
      { organizationId: "acme", role: "tester", permission },
      { organizationId: "acme", role: "broken", permission: "{" },
      { organizationId: "acme", role: "empty", permission: "null" },
      { organizationId: "acme", role: "text", permission: '{"featureFlag":"read"}' },
      { organizationId: "other", role: "foreign", permission },
    ];
    const dynamic = { ac, dynamicAccessControl: { enabled: true } };
    const verdict = (
      roleInAcme: string,
      options: OrganizationOptions = dynamic,
      action: FlagAction = "read",
    ) =>
      judged({ flags: TENANTS, organization: options, roleInAcme, storedRoles }, userWith(), action, "acme");
    expect(await verdict("tester")).toBe("granted");
    expect(await verdict("member,tester")).toBe("granted");
    expect(await verdict("tester", dynamic, "update")).toBe("denied");
    for (const role of ["broken", "empty", "text", "foreign", "test"])
      expect(await verdict(role)).toBe("denied");
    expect(await verdict("tester", { ac })).toBe("denied");
    expect(await verdict("tester", { ac, dynamicAccessControl: { enabled: false } })).toBe("denied");
  });

  test("is not refused while those roles cannot be read: the request fails as unavailable", async () => {
    const dynamic = { ac, dynamicAccessControl: { enabled: true } };
    const reading = judged(
      { flags: TENANTS, organization: dynamic, roleInAcme: "x" },
      userWith(),
      "read",
      "acme",
    );
    await expect(reading).rejects.toMatchObject({ problem: "unavailable" });
  });
});

describe("an API key", () => {
  test("grants the actions it has and no others, within what it reaches", async () => {
    expect(await judged({}, keyWith("read"), "read")).toBe("granted");
    expect(await judged({}, keyWith("read"), "update")).toBe("denied");
    expect(await judged({ flags: TENANTS, roleInAcme: "" }, keyWith("read"), "read", "acme")).toBe("granted");
    expect(await judged({ flags: TENANTS, roleInAcme: "owner" }, keyWith("read"), "update", "acme")).toBe(
      "denied",
    );
    expect(await judged({ flags: TENANTS }, keyWith("read"), "read", "acme")).toBe("hidden");
    expect(await judged({ flags: TENANTS }, keyWith("read"), "read", "")).toBe("hidden");
  });

  test("of a user reaches what its owner reaches, by the owner's role in the application", async () => {
    const setting: Setting = { flags: TENANTS, admin: { ac, roles: { user: userAc, reader } } };
    for (const tenant of ["", "acme"]) {
      expect(await judged(setting, keyOf(ownedBy("admin"), ["update"]), "update", tenant)).toBe("granted");
      expect(await judged(setting, keyOf(ownedBy("admin"), ["read"]), "update", tenant)).toBe("denied");
      expect(await judged(setting, keyOf(ownedBy("user"), ["read"]), "read", tenant)).toBe("hidden");
      expect(await judged(setting, keyOf({ kind: "unclear" }, ["read"]), "read", tenant)).toBe("hidden");
    }
  });

  test("evaluates global flags as any user with evaluate-as, and reads them only if its owner may", async () => {
    const setting: Setting = { flags: TENANTS };
    for (const owner of [ownedBy(), { kind: "organization" } as const]) {
      const key = keyOf(owner, ["read", "evaluate-as"]);
      expect(await judged(setting, key, "evaluate-as")).toBe("granted");
      expect(await judged(setting, key, "read")).toBe("hidden");
    }
  });

  test("that belongs to no person has its actions everywhere", async () => {
    for (const tenant of ["", "acme"]) {
      const key = keyOf({ kind: "service" }, ["read"]);
      expect(await judged({ flags: TENANTS, roleInAcme: "" }, key, "read", tenant)).toBe("granted");
      expect(await judged({ flags: TENANTS, roleInAcme: "" }, key, "update", tenant)).toBe("denied");
    }
  });
});

describe("an API key that a person made", () => {
  const personal = (role: string | undefined, ...actions: string[]) => keyOf(ownedBy(role), actions, true);

  test("grants what its actions and its owner's role both grant now", async () => {
    const setting: Setting = { admin: { ac, roles: { user: userAc, reader } } };
    expect(await judged(setting, personal("admin", "read"), "read")).toBe("granted");
    expect(await judged(setting, personal("admin", "read"), "update")).toBe("denied");
    expect(await judged(setting, personal("reader", "read", "update"), "read")).toBe("granted");
    expect(await judged(setting, personal("reader", "read", "update"), "update")).toBe("denied");
    expect(await judged(setting, personal("user", "read"), "read")).toBe("denied");
    expect(await judged(setting, personal(undefined, "read"), "read")).toBe("denied");
  });

  test("reaches the tenants that its owner reaches, with the owner's permissions there", async () => {
    const setting: Setting = { flags: TENANTS, roleInAcme: "owner" };
    const key = personal(undefined, "read", "evaluate-as");
    expect(await judged(setting, key, "read", "acme")).toBe("granted");
    expect(await judged(setting, key, "update", "acme")).toBe("denied");
    expect(await judged(setting, key, "read", "other")).toBe("hidden");
    expect(await judged(setting, key, "evaluate-as", "")).toBe("hidden");
    expect(await judged({ ...setting, roleInAcme: "member" }, key, "read", "acme")).toBe("denied");
    expect(await judged(setting, personal("admin", "read"), "read", "other")).toBe("granted");
  });

  test("is nothing without a person", async () => {
    expect(await judged({}, keyOf({ kind: "organization" }, ["read"], true), "read")).toBe("hidden");
  });
});

test("server code may do everything, and flags do not exist for an anonymous visitor", async () => {
  for (const multiTenant of [true, false]) {
    expect(await judged({ flags: { multiTenant } }, { kind: "server" }, "delete", "acme")).toBe("granted");
    expect(await judged({ flags: { multiTenant } }, { kind: "anonymous" }, "read", "")).toBe("hidden");
  }
});

describe("the option permission", () => {
  test("decides instead of roles, for true and nothing else, after the tenant is known to be visible", async () => {
    for (const [answer, verdict] of [
      [true, "granted"],
      [false, "denied"],
      ["yes", "denied"],
    ] as const) {
      const flags = { permission: async () => answer as boolean };
      expect(await judged({ flags }, userWith("admin"), "read")).toBe(verdict);
      expect(await judged({ flags }, keyWith("read"), "read")).toBe(verdict);
      expect(await judged({ flags }, keyOf(ownedBy(), ["read"], true), "read")).toBe(verdict);
      expect(await judged({ flags }, keyWith("update"), "read")).toBe("denied");
    }
    const permission = async (): Promise<boolean> => {
      throw new Error("must not be called");
    };
    const hidden = await judged({ flags: { ...TENANTS, permission } }, userWith(), "read", "acme");
    expect(hidden).toBe("hidden");
  });

  test("is told who calls, for which organization, and with which headers", async () => {
    const seen: unknown[] = [];
    const flags = {
      ...TENANTS,
      permission: async ({ headers, ...context }: { headers: Headers }, action: FlagAction) => {
        seen.push([context, headers.get("x-a"), action]);
        return true;
      },
    };
    const setting: Setting = { flags, roleInAcme: "member", headers: { "x-a": "1" } };
    await judged(setting, userWith(), "read", "acme");
    await judged(setting, userWith("admin"), "update", "");
    await judged(setting, keyWith("read"), "read", "acme");
    await judged(setting, keyOf(ownedBy("admin"), ["read"]), "read", "acme");
    await judged(setting, keyOf(ownedBy(), ["read"], true), "read", "acme");
    const user = { id: "u", email: "u@example.com" };
    const key = { id: "k", actions: ["read"] };
    expect(seen).toStrictEqual([
      [{ user, organizationId: "acme" }, "1", "read"],
      [{ user: { ...user, role: "admin" } }, "1", "update"],
      [{ key, organizationId: "acme" }, "1", "read"],
      [{ user: { ...user, role: "admin" }, key, organizationId: "acme" }, "1", "read"],
      [{ user, key, organizationId: "acme" }, "1", "read"],
    ]);
  });
});

test("tenantOverridable is refused without the option multiTenant, and false or missing is accepted", () => {
  const refusal = { status: 400, code: "VALIDATION_ERROR" };
  const require = (multiTenant: boolean | undefined, tenantOverridable: boolean | undefined) => () =>
    requireMultiTenant({ options: { multiTenant } as never }, { tenantOverridable });
  expect(require(undefined, true)).toThrow(expect.objectContaining(refusal));
  expect(require(false, true)).toThrow(/tenantOverridable: needs the option multiTenant/);
  expect(require(true, true)).not.toThrow();
  expect(require(false, false)).not.toThrow();
  expect(require(undefined, undefined)).not.toThrow();
});
