import type { Caller, KeyOwner } from "@halyard/sessions/plugin";
import { createAccessControl } from "better-auth/plugins/access";
import { admin } from "better-auth/plugins/admin";
import { defaultStatements } from "better-auth/plugins/admin/access";
import { organization } from "better-auth/plugins/organization";
import { describe, expect, test } from "vitest";
import type { GuardedCall } from "../call.ts";
import type { FeatureFlagsOptions } from "../options.ts";
import { type FlagAction, featureFlagStatements } from "./actions.ts";
import {
  admitToEntity,
  admitToList,
  admitToOrganization,
  admitToService,
  admitToTenants,
  type Entity,
  findListedFlag,
  possibleId,
} from "./admission.ts";

const ac = createAccessControl({ ...defaultStatements, ...featureFlagStatements });

interface Setting {
  readonly caller: Caller;
  readonly multiTenant?: boolean;
  /** The application's own check. */
  readonly permission?: FeatureFlagsOptions["permission"];
  readonly action?: FlagAction;
  readonly query?: Readonly<Record<string, string>>;
  /** The organization that is active in the caller's session. */
  readonly home?: string;
  /** The caller's role by organization. */
  readonly roles?: Readonly<Record<string, string>>;
  /** Absent for a call of server code. */
  readonly headers?: Readonly<Record<string, string>>;
}

const F1 = "019b76da-a800-767b-818f-cf4809c9e261";
const F2 = "019b76da-a800-767b-818f-cf4809c9e262";
const G1 = "019b76da-a800-767b-818f-cf4809c9e263";
const O1 = "019b76da-a800-767b-818f-cf4809c9e264";
const S1 = "019b76da-a800-767b-818f-cf4809c9e265";
const ANY = "019b76da-a800-767b-818f-cf4809c9e266";

/** The tenant of every stored entity, by id, and the ids by tenant and key. */
const TENANT_OF: Readonly<Record<string, string>> = {
  [`flag ${F1}`]: "acme",
  [`flag ${G1}`]: "",
  [`override ${O1}`]: "acme",
};
const ID_OF: Readonly<Record<string, string>> = {
  "flag acme k": F1,
  "flag  k": G1,
  "segment acme k": S1,
  [`flag  ${ANY}`]: G1,
};

function callOf({
  caller,
  multiTenant,
  permission,
  action = "update",
  home,
  ...setting
}: Setting): GuardedCall {
  const { roles = {}, headers } = setting;
  const plugins = [admin({ ac, roles: { reader: ac.newRole({ featureFlag: ["read"] }) } }), organization()];
  return {
    service: {
      options: { ...(multiTenant && { multiTenant }), ...(permission && { permission }) },
      store: {
        tenantOf: async (entity: Entity, id: string) => TENANT_OF[`${entity} ${id}`],
        idOfKey: async (entity: Entity, tenant: string, key: string) => ID_OF[`${entity} ${tenant} ${key}`],
      },
    },
    request: {
      context: { options: { plugins } },
      query: setting.query,
      ...(headers && { headers: new Headers(headers) }),
    },
    identity: {
      administrator: async () => caller,
      homeOf: async () => home,
      tieTo: async (_caller: Caller, tenant: string) =>
        roles[tenant] === undefined ? undefined : { role: roles[tenant] },
    },
    operation: { action },
  } as unknown as GuardedCall;
}

const SERVER: Caller = { kind: "server" };
const user = (role?: string): Caller => ({
  kind: "user",
  user: { id: "u", email: "u@example.com", ...(role !== undefined && { role }) },
});
const ADMIN = user("admin");
const keyOf = (owner: KeyOwner, ...actions: string[]): Caller => ({
  kind: "key",
  key: { id: "k1", actions, ownerId: "u", owner, isPersonal: false },
});
const ownedBy = (role?: string): KeyOwner => ({
  kind: "user",
  user: { id: "u", email: "u@example.com", ...(role !== undefined && { role }) },
});
const key = (...actions: string[]): Caller => keyOf(ownedBy(), ...actions);
const OWNER = { caller: user(), multiTenant: true, roles: { acme: "owner" }, home: "acme" } as const;

const HIDDEN = { code: "FLAG_NOT_FOUND", status: 404 };
const DENIED = { code: "PERMISSION_DENIED", status: 403 };
const INVALID = { code: "VALIDATION_ERROR", status: 400 };
const failure = (work: Promise<unknown>) =>
  work.then(
    () => "admitted",
    (error: unknown) => error,
  );
const toEntity = (setting: Setting, id: string, entity: Entity = "flag") =>
  admitToEntity(callOf(setting), entity, () => id);

describe("a call on one entity", () => {
  test("gets the id and the scope of a writer, with and without tenants", async () => {
    const system = { type: "system", id: "system" };
    expect(await toEntity({ caller: SERVER }, ANY)).toEqual({
      id: ANY,
      scope: { tenant: "", actor: system, origin: {} },
    });
    expect((await toEntity({ caller: ADMIN }, ANY)).scope.actor).toEqual({ type: "user", id: "u" });
    expect((await toEntity({ caller: key("update") }, ANY)).scope.actor).toEqual({ type: "key", id: "k1" });
    const { id, scope } = await toEntity(OWNER, F1);
    expect([id, scope.tenant]).toEqual([F1, "acme"]);
  });

  test("is denied without the permission, and not told whether another tenant's entity exists", async () => {
    expect(await failure(toEntity({ caller: user() }, ANY))).toMatchObject(DENIED);
    const member = { ...OWNER, roles: { acme: "member" } };
    const refused = await failure(toEntity(member, F1));
    expect(refused).toMatchObject({ ...DENIED, message: expect.stringContaining('["update"]') });
    const [foreign, absent] = [
      await failure(toEntity({ ...OWNER, roles: { other: "owner" } }, F1)),
      await failure(toEntity({ ...OWNER, roles: { other: "owner" } }, F2)),
    ];
    expect(foreign).toMatchObject({ ...HIDDEN, details: { entity: "flag" } });
    expect(foreign).toEqual(absent);
    expect(await failure(toEntity(OWNER, G1))).toMatchObject(HIDDEN);
  });

  test("names its entity by a key, bare or as key:<key>, and a text in the form of an id is only an id", async () => {
    for (const name of ["k", "key:k"]) {
      expect((await toEntity({ caller: ADMIN }, name)).id).toBe(G1);
      expect((await toEntity(OWNER, name)).id).toBe(F1);
      expect((await findListedFlag(callOf(OWNER), { flagId: name })).flagId).toBe(F1);
    }
    expect((await toEntity({ caller: ADMIN }, ANY)).id).toBe(ANY);
    expect((await toEntity({ caller: ADMIN }, `key:${ANY}`)).id).toBe(G1);
  });

  test("looks a key up in the organization of the query, else in the caller's own", async () => {
    expect((await toEntity(OWNER, "key:k", "segment")).id).toBe(S1);
    expect((await toEntity({ ...OWNER, caller: ADMIN, query: { organizationId: "" } }, "key:k")).id).toBe(G1);
    expect((await toEntity({ caller: SERVER, multiTenant: true, home: "acme" }, "key:k")).id).toBe(G1);
    const named = { caller: SERVER, multiTenant: true, query: { organizationId: "acme" } };
    expect((await toEntity(named, "key:k")).id).toBe(F1);
    // Overrides have no key.
    expect((await toEntity({ caller: ADMIN }, "key:k", "override")).id).toBe("key:k");
  });

  test("is not found by an unknown key, and repeats the key only if it could be one", async () => {
    const message =
      'No flag with the key "none" was found. Check the key, and set organizationId in the query to the organization of the flag, or to "" for a global flag.';
    const details = { entity: "flag" };
    expect(await failure(toEntity(OWNER, "key:none"))).toMatchObject({ ...HIDDEN, message, details });
    const impossible = await failure(toEntity(OWNER, "key:no key"));
    expect(impossible).toMatchObject({ ...HIDDEN, message: "There is no such flag. Check its id." });
    const foreign = { ...OWNER, roles: {}, query: { organizationId: "acme" } };
    expect(await failure(toEntity(foreign, "key:k"))).toMatchObject(HIDDEN);
  });

  test("is not found where the query names another organization than the entity's", async () => {
    const server = { caller: SERVER, multiTenant: true };
    expect((await toEntity({ ...server, query: { organizationId: "acme" } }, O1, "override")).id).toBe(O1);
    const other = { ...server, query: { organizationId: "other" } };
    expect(await failure(toEntity(other, O1, "override"))).toMatchObject(HIDDEN);
  });

  test("with an id that the server never issues is answered without a lookup", () => {
    expect(possibleId("rule", "x".repeat(255))).toHaveLength(255);
    for (const id of ["x".repeat(256), "\u0000", "\ud800"]) {
      expect(() => possibleId("rule", id)).toThrow(expect.objectContaining(HIDDEN));
    }
  });
});

describe("the origin of a change", () => {
  test("has address, agent, request and impersonator, each cut to 255 characters", async () => {
    const long = "x".repeat(300);
    const headers = { "x-forwarded-for": "203.0.113.9", "user-agent": long, "x-request-id": long };
    const caller: Caller = {
      kind: "user",
      user: { id: "u", email: "u@example.com", role: "admin", impersonatedBy: "boss" },
    };
    const cut = "x".repeat(255);
    const { scope } = await toEntity({ caller, headers }, ANY);
    expect(scope.origin).toEqual({
      ip: expect.any(String),
      userAgent: cut,
      requestId: cut,
      impersonatedBy: "boss",
    });
  });

  test("leaves out what the request does not have", async () => {
    const { scope } = await toEntity({ caller: key("update"), headers: {} }, ANY);
    expect(Object.keys(scope.origin).filter((field) => field !== "ip")).toEqual([]);
  });
});

describe("a call that creates something", () => {
  test("writes to the organization it names, if the caller may", async () => {
    expect((await admitToOrganization(callOf({ caller: ADMIN }), "label")).tenant).toBe("");
    expect((await admitToOrganization(callOf(OWNER), "acme")).tenant).toBe("acme");
    const everywhere = { caller: ADMIN, multiTenant: true };
    expect((await admitToOrganization(callOf(everywhere), "")).tenant).toBe("");
    for (const [setting, id] of [
      [{ caller: user() }, "label"],
      [OWNER, "other"],
      [OWNER, ""],
    ] as const) {
      expect(await failure(admitToOrganization(callOf(setting), id))).toMatchObject(DENIED);
    }
  });

  test("must name one, which only a caller with the permission is told", async () => {
    for (const setting of [
      OWNER,
      { caller: SERVER, multiTenant: true },
      { caller: ADMIN, multiTenant: true },
    ]) {
      const refused = await failure(admitToOrganization(callOf(setting), undefined));
      expect(refused).toMatchObject(INVALID);
      expect(JSON.stringify(refused)).toMatch(/organizationId.*multiTenant/);
    }
    const member = { ...OWNER, roles: { acme: "member" } };
    expect(await failure(admitToOrganization(callOf(member), undefined))).toMatchObject(DENIED);
    const nowhere = { caller: user(), multiTenant: true };
    expect(await failure(admitToOrganization(callOf(nowhere), undefined))).toMatchObject(DENIED);
  });
});

describe("a call on a list", () => {
  test("covers everything, one organization or the caller's own", async () => {
    expect(await admitToList(callOf({ caller: ADMIN }))).toEqual({ tenants: { tenant: "" } });
    const labelled = callOf({ caller: ADMIN, query: { organizationId: "l" } });
    expect(await admitToList(labelled)).toEqual({ tenants: { tenant: "" }, label: "l" });
    expect(await admitToList(callOf({ caller: ADMIN, multiTenant: true }))).toEqual({ tenants: "all" });
    expect(await admitToList(callOf({ caller: SERVER, multiTenant: true }))).toEqual({ tenants: "all" });
    expect(await admitToList(callOf(OWNER))).toEqual({ tenants: { tenant: "acme" } });
    const named = callOf({ ...OWNER, home: "other", query: { organizationId: "acme" } });
    expect(await admitToList(named)).toEqual({ tenants: { tenant: "acme" } });
  });

  test("is denied without the permission, and without an organization it says what is missing", async () => {
    expect(await failure(admitToList(callOf({ caller: user() })))).toMatchObject(DENIED);
    const named = callOf({ ...OWNER, query: { organizationId: "other" } });
    expect(await failure(admitToList(named))).toMatchObject(DENIED);
    const member = { ...OWNER, roles: { acme: "member" } };
    expect(await failure(admitToList(callOf(member)))).toMatchObject(DENIED);
    const nowhere = { caller: user(), multiTenant: true };
    const refused = await failure(admitToList(callOf(nowhere)));
    expect(refused).toMatchObject(INVALID);
    expect(JSON.stringify(refused)).toMatch(/organizationId.*no organization is active/);
    const reader = { caller: user("reader"), multiTenant: true };
    expect(await failure(admitToList(callOf(reader)))).toMatchObject(DENIED);
  });

  test("refuses a label where entries have none", async () => {
    expect(await admitToTenants(callOf({ caller: ADMIN }))).toEqual({ tenant: "" });
    const refused = await failure(admitToTenants(callOf({ caller: ADMIN, query: { organizationId: "l" } })));
    expect(refused).toMatchObject(INVALID);
    expect(JSON.stringify(refused)).toMatch(/organizationId.*multiTenant/);
  });

  test("finds the flag that its query names by a key", async () => {
    const query = { flagId: "key:k", limit: 5 };
    expect(await findListedFlag(callOf({ caller: ADMIN }), query)).toEqual({ flagId: G1, limit: 5 });
    expect(await findListedFlag(callOf(OWNER), query)).toEqual({ flagId: F1, limit: 5 });
    const single = callOf({ caller: ADMIN, home: "acme" });
    expect(await findListedFlag(single, query)).toEqual({ flagId: G1, limit: 5 });
    const byId = { flagId: F1 };
    expect(await findListedFlag(callOf(OWNER), byId)).toBe(byId);
    const none = {};
    expect(await findListedFlag(callOf(OWNER), none)).toBe(none);
  });
});

describe("a call about the service", () => {
  const admitted = (setting: Setting) => failure(admitToService(callOf(setting)));

  test("needs the action on global flags", async () => {
    expect(await admitted({ caller: ADMIN })).toBe("admitted");
    expect(await admitted({ caller: ADMIN, multiTenant: true })).toBe("admitted");
    expect(await admitted({ caller: key("update") })).toBe("admitted");
    expect(await admitted({ caller: user() })).toMatchObject(DENIED);
    expect(await admitted(OWNER)).toMatchObject(DENIED);
    expect(await admitted({ caller: key("read") })).toMatchObject(DENIED);
  });

  test("with a user's key needs the action of the key and of the user, with tenants", async () => {
    const withKey = (owner: KeyOwner, ...actions: string[]) =>
      admitted({ caller: keyOf(owner, ...actions), multiTenant: true });
    expect(await withKey(ownedBy("admin"), "update")).toBe("admitted");
    expect(await withKey(ownedBy("admin"), "read")).toMatchObject(DENIED);
    expect(await withKey(ownedBy("user"), "update")).toMatchObject(DENIED);
    expect(await withKey(ownedBy(), "update")).toMatchObject(DENIED);
    // With serial ids a user and an organization may have the same id.
    expect(await withKey({ kind: "unclear" }, "update")).toMatchObject(DENIED);
    expect(await withKey({ kind: "organization" }, "update")).toMatchObject(DENIED);
    expect(await withKey({ kind: "service" }, "update")).toBe("admitted");
    expect(await withKey({ kind: "service" }, "read")).toMatchObject(DENIED);
    expect(await admitted({ caller: keyOf(ownedBy("admin"), "read") })).toMatchObject(DENIED);
  });

  test("with a key needs the action of the key and the application's decision about its owner", async () => {
    const permission: FeatureFlagsOptions["permission"] = ({ user }) => user?.role === "admin";
    const ask = (caller: Caller) => admitted({ caller, permission });
    expect(await ask(ADMIN)).toBe("admitted");
    expect(await ask(keyOf(ownedBy("admin"), "update"))).toBe("admitted");
    expect(await ask(keyOf(ownedBy("admin"), "read"))).toMatchObject(DENIED);
    expect(await ask(keyOf(ownedBy(), "update"))).toMatchObject(DENIED);
    expect(await ask(keyOf({ kind: "service" }, "update"))).toMatchObject(DENIED);
  });

  test("that is denied to a key says what is missing", async () => {
    const message = async (setting: Setting) => ((await admitted(setting)) as Error).message;
    expect(await message({ caller: key("read") })).toBe(
      'The API key lacks featureFlag: ["update"]. Make a key that grants it.',
    );
    expect(await message({ caller: key("update"), multiTenant: true })).toContain(
      'only in its organization, or in those of its owner. Name one of these as organizationId, or use a key whose owner may do this in the application, or a key for "service:<name>".',
    );
    expect(await message({ caller: key("update"), permission: () => false })).toBe(
      'The option permission denies featureFlag: ["update"] to the API key.',
    );
    const personal: Caller = {
      kind: "key",
      key: { id: "k1", actions: ["update"], ownerId: "u", owner: ownedBy(), isPersonal: true },
    };
    expect(await message({ caller: personal })).toContain("was made by a person, who may not do this here.");
  });
});
