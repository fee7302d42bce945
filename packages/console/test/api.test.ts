/** Checks the API: who may use it, from where, and that it runs the same operations as HTTP. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../../flags/test/host.ts";
import { memoryHost } from "../../flags/test/memory-host.ts";
import { DATABASES, trustedSuite } from "../../flags/test/trusted-host.ts";
import { BASE, type ConsoleHost, mountConsole } from "./console-host.ts";

const HOSTILE = `</script><script>alert("x")</script><img src=x onerror=alert(1)>'"\u2028`;

describe.each(DATABASES)("guide/console: How it works (%s)", (_name, open) => {
  let host: Host;
  let admin: Person;
  let user: Person;
  let console_: ConsoleHost;
  trustedSuite(open, { trusted: { user: ["plan"] } }, async (started) => {
    host = started;
    console_ = mountConsole(host, { signInUrl: "/sign-in" });
    admin = await host.person("admin", "admin");
    user = await host.person("user");
  });
  let made = 0;
  const create = async (fields: object = {}) => {
    const body = { key: `flag-${++made}`, name: "N", type: "string", enabled: true, ...fields };
    return (await console_.api("feature-flags/admin/flags", { as: admin, method: "POST", body })).json;
  };

  test("an admin reads and changes flags as over HTTP, with the admin as actor in the audit log", async () => {
    const flag = await create();
    const path = `feature-flags/admin/flags/${flag.id}`;
    const changed = await console_.api(path, { as: admin, method: "PATCH", body: { name: "M" } });
    expect([changed.status, changed.json.version, changed.headers.get("etag")]).toEqual([200, 2, '"2"']);
    const read = await host.call("GET", `/${path}`, { as: admin });
    expect(changed.json).toMatchObject(read.json);
    const { json } = await console_.api(`feature-flags/admin/audit?flagId=${flag.id}`, { as: admin });
    expect(json.entries[0]).toMatchObject({ action: "flag.updated", actor: { type: "user", id: admin.id } });
  });

  test("a visitor gets 401 and a user without the permission 403, and neither learns anything", async () => {
    const flag = await create();
    for (const [as, status] of [
      [undefined, 401],
      [user, 403],
    ] as const) {
      const flags = await console_.api("feature-flags/admin/flags", { as });
      expect([flags.status, flags.json.code]).toEqual([status, "PERMISSION_DENIED"]);
      expect(flags.text).not.toContain(flag.key);
      for (const name of [
        "people",
        "person",
        "activity",
        "evaluations",
        "verify-audit",
        "export-audit",
        "processes",
        "keys",
      ]) {
        expect((await console_.own(name, {}, as)).status, name).toBe(status);
      }
    }
  });

  test.each([
    ["another origin", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
    ["a sibling origin", { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" }],
    [
      "another origin, of a browser without Sec-Fetch-Site",
      { origin: "https://evil.example", "sec-fetch-site": "" },
    ],
    ["its own origin that the browser calls cross-site", { "sec-fetch-site": "cross-site" }],
    ["an opaque origin", { origin: "null" }],
    ["no header of the console", { "x-halyard-console": "" }],
    ["another value of the console's header", { "x-halyard-console": "true" }],
  ])("a request with %s is refused, for reads and for writes", async (_what, headers) => {
    for (const [method, body] of [
      ["GET", undefined],
      ["POST", { key: "csrf", name: "N", type: "boolean" }],
    ] as const) {
      const answer = await console_.api("feature-flags/admin/flags", { as: admin, method, body, headers });
      expect(answer.status).toBe(403);
      expect(answer.json).not.toHaveProperty("flags");
    }
  });

  test("no response allows another origin to read it", async () => {
    const answer = await console_.api("feature-flags/admin/flags", {
      as: admin,
      method: "OPTIONS",
      headers: { origin: "https://evil.example" },
    });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    expect(answer.status).toBe(403);
  });

  test("only the session cookie identifies the caller: keys and bearer tokens do not", async () => {
    const key = await host.key({ userId: admin.id }, ["read"]);
    expect((await host.call("GET", "/feature-flags/admin/flags", { as: key })).status).toBe(200);
    expect((await console_.api("feature-flags/admin/flags", { as: key })).status).toBe(401);
  });

  test("the console's own operations exist only below its path, even with a guessed mark", async () => {
    const headers = { "x-halyard-console": "1", "x-halyard-console-mark": "1" };
    const answer = await host.call("POST", "/feature-flags/console/session", {
      as: admin,
      body: {},
      headers,
    });
    expect(answer.status).toBe(404);
    const passed = await console_.api("feature-flags/console/session", {
      as: admin,
      method: "POST",
      body: {},
      headers: { "x-halyard-console-mark": "1" },
    });
    expect(passed.status).toBe(200);
    expect((await console_.own("no-such-operation", {}, admin)).status).toBe(404);
  });

  test("signing in and out goes through Better Auth, with its cookies", async () => {
    const anonymous = await console_.own("session", {});
    expect(anonymous.json).toMatchObject({ emailAndPassword: true, signInUrl: "/sign-in", actions: [] });
    expect(anonymous.json).not.toHaveProperty("user");
    const body = { email: admin.email, password: "correct horse battery" };
    const signedIn = await console_.api("auth/sign-in/email", { method: "POST", body });
    expect(signedIn.status).toBe(200);
    const cookie = signedIn.headers
      .getSetCookie()
      .map((line) => line.split(";", 1)[0])
      .join("; ");
    const as = { ...admin, headers: { cookie } };
    expect((await console_.own("session", {}, as)).json.user).toMatchObject({
      id: admin.id,
      email: admin.email,
    });
    const out = await console_.api("auth/sign-out", { as, method: "POST", body: {} });
    expect(out.headers.getSetCookie().join()).toMatch(/Max-Age=0/i);
    expect((await console_.api("feature-flags/admin/flags", { as })).status).toBe(401);
  });

  test.each([
    "auth/sign-up/email",
    "auth/admin/list-users",
    "auth/get-session",
    "auth/../sign-up/email",
    "other",
  ])("the path %s is not passed on", async (path) => {
    const answer = await console_.api(path, { as: admin, method: "POST", body: {} });
    expect(answer.status).toBe(404);
  });

  test("an ended session is 401, and the console then has no user", async () => {
    const leaving = await host.person("leaving", "admin");
    expect((await console_.api("feature-flags/admin/flags", { as: leaving })).status).toBe(200);
    await host.call("POST", "/sign-out", { as: leaving, body: {} });
    expect((await console_.api("feature-flags/admin/flags", { as: leaving })).status).toBe(401);
    expect((await console_.own("session", {}, leaving)).json).not.toHaveProperty("user");
  });

  test("a change to a version that another person has changed is 409 with the current version", async () => {
    const flag = await create();
    const path = `feature-flags/admin/flags/${flag.id}`;
    const patch = (name: string) =>
      console_.api(path, { as: admin, method: "PATCH", body: { name }, headers: { "if-match": '"1"' } });
    expect((await patch("first")).status).toBe(200);
    const second = await patch("second");
    expect([second.status, second.json.details]).toEqual([409, { field: "version", version: 2 }]);
  });

  test("hostile names and values leave as JSON that no browser takes for a page", async () => {
    const flag = await create({ name: HOSTILE, description: HOSTILE, defaultValue: HOSTILE });
    await console_.api(`feature-flags/admin/flags/${flag.id}`, {
      as: admin,
      method: "PATCH",
      body: { name: "N" },
      headers: { "user-agent": HOSTILE.replaceAll(/[^ -~]/g, "") },
    });
    for (const path of [
      `feature-flags/admin/flags/${flag.id}`,
      `feature-flags/admin/audit?flagId=${flag.id}`,
    ]) {
      const answer = await console_.api(path, { as: admin });
      expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-security-policy")).toBe(
        "default-src 'none'; frame-ancestors 'none'",
      );
      expect(answer.text).toContain(JSON.stringify(HOSTILE).slice(1, -1));
    }
    expect(await (await console_.get(`${BASE}/flags/${encodeURIComponent(HOSTILE)}`)).text()).not.toContain(
      "alert",
    );
  });

  test("people are found by name, email and in pages, and each has every flag with its reason", async () => {
    const flag = await create({ defaultValue: "d" });
    await console_.api("feature-flags/admin/overrides", {
      as: admin,
      method: "POST",
      body: { flagId: flag.id, userId: user.id, value: "mine" },
    });
    const found = await console_.own("people", { q: "USER@exam" }, admin);
    expect(found.json.people).toMatchObject([{ id: user.id, email: user.email, name: "user" }]);
    const first = await console_.own("people", { limit: 1 }, admin);
    const second = await console_.own("people", { limit: 1, cursor: first.json.nextCursor }, admin);
    expect(second.json.people[0].id).not.toBe(first.json.people[0].id);
    const { json } = await console_.own("person", { userId: user.id }, admin);
    expect(json.person.email).toBe(user.email);
    expect(json.flags.find(({ id }: { id: string }) => id === flag.id)).toMatchObject({
      value: "mine",
      reason: "override",
      overrideId: expect.any(String),
    });
    expect((await console_.own("person", { userId: "nobody" }, admin)).status).toBe(404);
  });

  test("activity has the evaluations of a flag by hour and reason", async () => {
    const flag = await create({ defaultValue: "d" });
    for (let at = 0; at < 3; at++) await host.evaluate({ flagKey: flag.key }, user);
    const { json } = await console_.own("activity", { flagId: flag.id }, admin);
    expect(json.hours).toEqual([
      { at: expect.stringMatching(/:00:00\.000Z$/), byReason: { default: 3 }, byVariant: {} },
    ]);
    expect((await console_.own("activity", {}, admin)).json.hours.length).toBeGreaterThan(0);
  });

  test("activity of a flag with variants has the users who were shown each", async () => {
    const variants = [{ key: "all", weight: 100, value: "v" }];
    const flag = await create({ variants });
    await host.evaluate({ flagKey: flag.key, track: true }, user);
    await host.evaluate({ flagKey: flag.key, track: true }, user);
    const { json } = await console_.own("activity", { flagId: flag.id }, admin);
    expect(json.hours.map(({ byVariant }: { byVariant: object }) => byVariant)).toEqual([{ all: 1 }]);
  });

  test("evaluations has the last 24 hours of many flags, by hour", async () => {
    const [first, second, unused] = [await create(), await create(), await create()];
    for (let at = 0; at < 3; at++) await host.evaluate({ flagKey: first.key }, user);
    await host.evaluate({ flagKey: second.key }, user);
    const flagIds = [first.id, second.id, unused.id, "none"];
    const { json } = await console_.own("evaluations", { flagIds }, admin);
    expect(Date.parse(json.window.end) - Date.parse(json.window.start)).toBe(24 * 3_600_000);
    expect(Object.keys(json.byFlag).sort()).toEqual([first.id, second.id].sort());
    const hours: number[] = json.byFlag[first.id];
    expect(hours).toHaveLength(24);
    expect(hours.reduce((sum, count) => sum + count)).toBe(3);
    // The hour may end during the test.
    expect(hours.slice(0, 22)).toEqual(Array.from({ length: 22 }, () => 0));
    expect((await console_.own("evaluations", { flagIds: [] }, admin)).status).toBe(400);
    const many = Array.from({ length: 201 }, (_, at) => `flag-${at}`);
    expect((await console_.own("evaluations", { flagIds: many }, admin)).status).toBe(400);
  });

  test("the audit log is verified, and exported oldest first", async () => {
    const flag = await create();
    expect((await console_.own("verify-audit", {}, admin)).json).toMatchObject({ ok: true });
    const { json } = await console_.own("export-audit", {}, admin);
    expect(json.entries[0].revision).toBe(1);
    expect(json.entries.at(-1)).toMatchObject({ action: "flag.created", flagId: flag.id });
    const last = json.entries.at(-1).revision;
    expect((await console_.own("export-audit", { after: last }, admin)).json).toEqual({ entries: [] });
  });

  test("an API key is shown once, has at most the user's own actions, and can be deleted", async () => {
    const made_ = await console_.own("create-key", { name: "ci", actions: ["read"] }, admin);
    expect(made_.json).toMatchObject({ name: "ci", actions: ["read"], key: expect.any(String) });
    const as = { headers: { "x-api-key": made_.json.key } };
    expect((await host.call("GET", "/feature-flags/admin/flags", { as })).status).toBe(200);
    const listed = await console_.own("keys", {}, admin);
    expect(listed.json.keys).toContainEqual(
      expect.objectContaining({ id: made_.json.id, name: "ci", actions: ["read"], enabled: true }),
    );
    expect(listed.text).not.toContain(made_.json.key);
    expect((await console_.own("delete-key", { id: made_.json.id }, admin)).status).toBe(200);
    expect((await host.call("GET", "/feature-flags/admin/flags", { as })).status).toBe(401);
    expect((await console_.own("delete-key", { id: made_.json.id }, admin)).status).toBe(404);
  });

  test("who may manage keys lists and deletes everybody's: of users, of organizations and of services", async () => {
    const eve = await host.person("eve", "admin");
    const organizationId = await host.organization(eve, "keys-of-acme");
    const made = await console_.own("create-key", { name: "eve's", actions: ["read"] }, eve);
    const ofServer = await host.key({ userId: user.id }, ["read"]);
    const ofAcme = await host.key({ userId: eve.id, organizationId }, ["read"]);
    const ofService = await host.key({ userId: "service:ci" }, ["read"]);
    await host.auth.api.createApiKey({ body: { userId: user.id, permissions: { other: ["read"] } } });
    const { json } = await console_.own("keys", {}, admin);
    expect(json).not.toHaveProperty("only");
    const owner = { id: eve.id, name: "eve" };
    const listed = new Map(json.keys.map((key: { id: string }) => [key.id, key]));
    expect(listed.get(made.json.id)).toMatchObject({ name: "eve's", owner, isPersonal: true });
    expect(listed.get(ofServer.id)).toMatchObject({ owner: { id: user.id }, isPersonal: false });
    expect(listed.get(ofAcme.id)).toMatchObject({ owner: { id: organizationId }, isPersonal: false });
    expect(listed.get(ofService.id)).toMatchObject({ owner: { id: "service:ci" }, isPersonal: false });
    expect(json.keys.every(({ actions }: { actions: string[] }) => actions.length > 0)).toBe(true);
    const list = (headers: Record<string, string>) =>
      host.call("GET", "/feature-flags/admin/flags", { headers });
    for (const { id, headers } of [
      { id: made.json.id, headers: { "x-api-key": made.json.key } },
      ofServer,
      ofAcme,
      ofService,
    ]) {
      expect((await list(headers)).status).toBe(200);
      expect((await console_.own("delete-key", { id }, user)).status).toBe(403);
      expect((await console_.own("delete-key", { id }, admin)).status).toBe(200);
      expect((await list(headers)).status).toBe(401);
    }
  });

  test("a key ends 90 days after it was made, and its maker can neither change that nor what it may do", async () => {
    const day = 24 * 3_600_000;
    const { json } = await console_.own("create-key", { name: "k", actions: ["read"] }, admin);
    expect(Math.round((Date.parse(json.expiresAt) - Date.now()) / day)).toBe(90);
    const update = (fields: object) =>
      host.call("POST", "/api-key/update", { as: admin, body: { keyId: json.id, ...fields } });
    expect((await update({ permissions: { featureFlag: ["update"] } })).status).toBe(400);
    expect((await update({ expiresIn: 300 * 24 * 3600 })).status).toBe(200);
    const { keys } = (await console_.own("keys", {}, admin)).json;
    expect(keys.find(({ id }: { id: string }) => id === json.id)).toMatchObject({
      actions: ["read"],
      expiresAt: json.expiresAt,
      isPersonal: true,
    });
    const short = await console_.own("create-key", { name: "k", actions: ["read"], expiresInDays: 1 }, admin);
    expect(Math.round((Date.parse(short.json.expiresAt) - Date.now()) / day)).toBe(1);
  });

  test("a body of more than 256 KiB is refused", async () => {
    const body = JSON.stringify({ key: "x".repeat(300 * 1024) });
    const answer = await console_.api("feature-flags/admin/flags", { as: admin, method: "POST", body });
    expect(answer.status).toBe(413);
  });
});

/** A secondary storage, and the names that were read from it. */
function mapStorage() {
  const stored = new Map<string, string>();
  const reads: string[] = [];
  const get = (key: string) => {
    reads.push(key);
    return stored.get(key) ?? null;
  };
  const secondaryStorage = {
    get,
    set: (key: string, value: string) => void stored.set(key, value),
    delete: (key: string) => void stored.delete(key),
    getAndDelete: (key: string) => {
      const value = stored.get(key) ?? null;
      stored.delete(key);
      return value;
    },
    increment: () => 1,
  };
  return { secondaryStorage, reads };
}

describe("guide/console: Permissions", () => {
  test("a key cannot have actions that its maker lacks", async () => {
    const host = await memoryHost({
      flags: { permission: (_caller, action) => ["keys", "read"].includes(action) },
    });
    const console_ = mountConsole(host);
    const maker = await host.person("maker");
    const refused = await console_.own("create-key", { name: "k", actions: ["read", "update"] }, maker);
    expect([refused.status, refused.json.details]).toEqual([403, { actions: ["update"] }]);
    expect((await console_.own("create-key", { name: "k", actions: ["read"] }, maker)).status).toBe(200);
  });

  test.each([false, true])(
    "a key may do what its maker may do now, and ends with a ban or removal of its maker (multiTenant: %s)",
    async (multiTenant) => {
      const host = await memoryHost({ flags: { multiTenant } });
      const console_ = mountConsole(host);
      const [boss, eve] = [await host.person("boss", "admin"), await host.person("eve", "admin")];
      const flag = await host.createFlag({ key: "k", name: "N", type: "boolean", organizationId: "" }, boss);
      const actions = ["read", "update", "audit", "evaluate-as"];
      const made = await console_.own("create-key", { name: "k", actions }, eve);
      const headers = { "x-api-key": made.json.key };
      const statuses = async () => {
        const body = { description: String(Math.random()) };
        const change = await host.call("PATCH", `/feature-flags/admin/flags/${flag.json.id}`, {
          headers,
          body,
        });
        const global = multiTenant ? "?organizationId=" : "";
        const log = await host.call("GET", `/feature-flags/admin/audit${global}`, { headers });
        const asBoss = { flagKey: "k", context: { userId: boss.id } };
        const evaluation = await host.request("/feature-flags/evaluate", asBoss, headers);
        return [change.status, log.status, evaluation.status];
      };
      const as = new Headers(boss.headers);
      expect(await statuses()).toEqual([200, 200, 200]);
      await host.auth.api.setRole({ body: { userId: eve.id, role: "user" }, headers: as });
      expect(await statuses()).toEqual([multiTenant ? 404 : 403, 403, 403]);
      await host.auth.api.setRole({ body: { userId: eve.id, role: "admin" }, headers: as });
      expect(await statuses()).toEqual([200, 200, 200]);
      await host.auth.api.banUser({ body: { userId: eve.id }, headers: as });
      expect(await statuses()).toEqual([401, 401, 401]);
      await host.auth.api.unbanUser({ body: { userId: eve.id }, headers: as });
      expect(await statuses()).toEqual([200, 200, 200]);
      await host.auth.api.removeUser({ body: { userId: eve.id }, headers: as });
      expect(await statuses()).toEqual([401, 401, 401]);
    },
  );

  test("keys that the key plugin keeps in secondary storage are listed if they were made in the console, which the list says", async () => {
    const { secondaryStorage, reads } = mapStorage();
    const host = await memoryHost({ secondaryStorage, keysInStorage: true });
    const console_ = mountConsole(host);
    const [boss, eve] = [await host.person("boss", "admin"), await host.person("eve", "admin")];
    expect((await console_.own("keys", {}, boss)).json).toEqual({ keys: [], only: "console" });
    const made = await console_.own("create-key", { name: "k", actions: ["read"] }, eve);
    await host.key({ userId: eve.id }, ["read"]);
    const headers = { "x-api-key": made.json.key };
    const { json } = await console_.own("keys", {}, boss);
    expect([json.only, json.keys.map(({ id }: { id: string }) => id)]).toEqual(["console", [made.json.id]]);
    expect((await host.call("GET", "/feature-flags/admin/flags", { headers })).status).toBe(200);
    expect((await console_.own("delete-key", { id: made.json.id }, boss)).status).toBe(200);
    expect((await host.call("GET", "/feature-flags/admin/flags", { headers })).status).toBe(401);
    expect((await console_.own("keys", {}, boss)).json.keys).toEqual([]);
    reads.length = 0;
    await console_.own("keys", {}, boss);
    expect(reads.filter((key) => key.includes(eve.id))).toEqual([]);
  });

  test("where the key plugin keeps keys in its table, a secondary storage changes nothing in their list", async () => {
    const { secondaryStorage, reads } = mapStorage();
    const host = await memoryHost({ secondaryStorage });
    const console_ = mountConsole(host);
    const boss = await host.person("boss", "admin");
    expect((await console_.own("keys", {}, boss)).json).toEqual({ keys: [] });
    const made = await console_.own("create-key", { name: "k", actions: ["read"] }, boss);
    const ofServer = await host.key({ userId: boss.id }, ["read"]);
    reads.length = 0;
    const { json } = await console_.own("keys", {}, boss);
    expect(json).not.toHaveProperty("only");
    expect(json.keys.map(({ id }: { id: string }) => id).sort()).toEqual([made.json.id, ofServer.id].sort());
    expect(reads.filter((key) => key.includes("key"))).toEqual([]);
  });

  test("the key of an organization is deleted where its owner has several roles, or the creator's role another name", async () => {
    for (const [organization, role] of [
      [{}, "admin,owner"],
      [{ creatorRole: "admin" }, "admin"],
    ] as const) {
      const host = await memoryHost({ organization });
      const console_ = mountConsole(host);
      const [boss, eve] = [await host.person("boss", "admin"), await host.person("eve")];
      const organizationId = await host.organization(eve, "acme");
      const { id } = await host.key({ userId: eve.id, organizationId }, ["read"]);
      host.db.exec("update member set role = 'member'");
      const refused = await console_.own("delete-key", { id }, boss);
      expect([refused.status, refused.json.message]).toEqual([
        400,
        expect.stringContaining(
          `which has no member with the role "${organization.creatorRole ?? "owner"}"; give a member this role`,
        ),
      ]);
      host.db.prepare("update member set role = ?").run(role);
      expect((await console_.own("delete-key", { id }, boss)).status).toBe(200);
      expect((await console_.own("keys", {}, boss)).json.keys).toEqual([]);
    }
  });

  test("a user's key is deleted also where an organization has the id of the user", async () => {
    const host = await memoryHost();
    const console_ = mountConsole(host);
    const [boss, eve] = [await host.person("boss", "admin"), await host.person("eve")];
    const made = await host.organization(boss, "acme");
    const { id } = await host.key({ userId: eve.id }, ["read"]);
    host.db.exec("pragma foreign_keys = off");
    host.db.prepare("update organization set id = ? where id = ?").run(eve.id, made);
    expect((await console_.own("delete-key", { id }, boss)).status).toBe(200);
    expect((await console_.own("keys", {}, boss)).json.keys).toEqual([]);
  });

  test("with organizations a user sees the own ones, and an owner only their members and flags", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const console_ = mountConsole(host);
    const [owner, member, stranger] = [
      await host.person("owner"),
      await host.person("member"),
      await host.person("stranger"),
    ];
    const organizationId = await host.organization(owner, "acme");
    await host.join(member, organizationId);
    const other = await host.organization(stranger, "globex");
    await host.createFlag({ key: "k", name: "N", type: "string", enabled: true, organizationId }, owner);
    const session = (await console_.own("session", {}, owner)).json;
    expect(session).toMatchObject({ multiTenant: true, actions: [], activeOrganizationId: organizationId });
    expect(session.organizations).toMatchObject([{ id: organizationId, name: "acme" }]);
    expect((await console_.own("session", {}, member)).json.organizations).toEqual([]);
    const people = await console_.own("people", { organizationId }, owner);
    expect(people.json.people.map(({ id }: { id: string }) => id).sort()).toEqual(
      [owner.id, member.id].sort(),
    );
    const person = await console_.own("person", { userId: member.id, organizationId }, owner);
    expect(person.json.flags).toMatchObject([{ key: "k", organizationId }]);
    expect((await console_.own("person", { userId: stranger.id, organizationId }, owner)).status).toBe(404);
    for (const name of ["people", "verify-audit", "export-audit", "activity"]) {
      expect((await console_.own(name, { organizationId: other }, owner)).status, name).toBe(403);
      expect((await console_.own(name, { organizationId: "" }, owner)).status, name).toBe(403);
    }
    const flagIds = [person.json.flags[0].id];
    await host.evaluate({ flagKey: "k" }, owner);
    const evaluated = await console_.own("evaluations", { flagIds, organizationId }, owner);
    expect(Object.keys(evaluated.json.byFlag)).toEqual(flagIds);
    expect((await console_.own("evaluations", { flagIds, organizationId: other }, owner)).status).toBe(403);
    const foreign = await console_.own("evaluations", { flagIds, organizationId: other }, stranger);
    expect([foreign.status, foreign.json.byFlag]).toEqual([200, {}]);
    const body = { organizationId: null };
    expect(
      (await console_.api("auth/organization/set-active", { as: owner, method: "POST", body })).status,
    ).toBe(200);
    expect((await console_.own("session", {}, owner)).json).not.toHaveProperty("activeOrganizationId");
  });

  test("the console has a limit of its own for each user, and HTTP clients keep theirs", async () => {
    const host = await memoryHost({
      rateLimit: { enabled: true },
      flags: { rateLimit: { rules: { console: { max: 30, windowSeconds: 60 } } } },
    });
    const console_ = mountConsole(host);
    const [first, second] = [await host.person("first", "admin"), await host.person("second", "admin")];
    const tally = async (count: number, ask: () => Promise<{ status: number }>) => {
      const statuses: number[] = [];
      for (let at = 0; at < count; at++) statuses.push((await ask()).status);
      return [
        statuses.filter((status) => status === 200).length,
        statuses.filter((status) => status === 429).length,
      ];
    };
    const ask = (as: Person) => () => console_.api("feature-flags/admin/flags", { as });
    expect(await tally(32, ask(first))).toEqual([30, 2]);
    expect(await tally(1, ask(second))).toEqual([1, 0]);
    expect(await tally(22, () => host.call("GET", "/feature-flags/admin/flags", { as: first }))).toEqual([
      20, 2,
    ]);
  });

  test("the limit of the console is for administration by its users: evaluations, events and visitors keep theirs", async () => {
    const five = { max: 5, windowSeconds: 60 };
    const rules = { evaluate: five, "events-batch": five, bootstrap: five, admin: five };
    const host = await memoryHost({ rateLimit: { enabled: true }, flags: { rateLimit: { rules } } });
    const console_ = mountConsole(host);
    const [admin, headers] = [await host.person("admin", "admin"), { "x-forwarded-for": "203.0.113.7" }];
    const passed = async (path: string, body: object, as?: Person) => {
      const ask = () => console_.api(`feature-flags/${path}`, { as, method: "POST", body, headers });
      const statuses: number[] = [];
      for (let at = 0; at < 8; at++) statuses.push((await ask()).status);
      return statuses.filter((status) => status !== 429).length;
    };
    const events = { events: [{ flagKey: "k", event: "e" }] };
    for (const as of [admin, undefined]) {
      expect(await passed("evaluate", { flagKey: "k" }, as)).toBe(5);
      expect(await passed("events/batch", events, as)).toBe(5);
    }
    expect(await passed("bootstrap", {}, admin)).toBe(5);
    expect(await passed("console/session", {}, admin)).toBe(8);
    expect(await passed("console/session", {})).toBe(5);
  });
});

test("declared flags that do not exist are offered with their default, else with the first of their values", async () => {
  const host = await memoryHost({
    flags: {
      flags: {
        theme: { type: "string", values: ["light", "dark"] },
        limit: { type: "number", default: 3 },
        sale: { type: "boolean" },
        known: { type: "boolean" },
      },
    },
  });
  const { own } = mountConsole(host);
  const [admin, user] = [await host.person("admin", "admin"), await host.person("user")];
  await host.createFlag({ key: "known", name: "Known", type: "boolean" }, admin);
  expect((await own("missing-flags", {}, admin)).json.flags).toEqual([
    { key: "theme", type: "string", value: "light", values: ["light", "dark"] },
    { key: "limit", type: "number", value: 3 },
    { key: "sale", type: "boolean" },
  ]);
  expect((await own("missing-flags", {}, user)).status).toBe(403);
});
