/** Checks what the console learns about changes: the revision, the log with names, and what only admitted users learn. */
import { describe, expect, test } from "vitest";
import { memoryHost } from "../../flags/test/memory-host.ts";
import { cookieOf } from "../../flags/test/unusual-callers.ts";
import { mountConsole } from "./console-host.ts";

const flag = (fields: object = {}) => ({ key: "k", name: "N", type: "boolean", ...fields });

describe("guide/console: How it works", () => {
  test("the revision grows with every change of the chosen organization, and with no other", async () => {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const console_ = mountConsole(host);
    const [ada, bob] = [await host.person("ada"), await host.person("bob")];
    const [acme, globex] = [await host.organization(ada, "acme"), await host.organization(bob, "globex")];
    const revision = async () =>
      (await console_.own("revision", { organizationId: acme }, ada)).json.revision as number;
    const before = await revision();
    await host.createFlag(flag({ organizationId: globex }), bob);
    expect(await revision()).toBe(before);
    await host.createFlag(flag({ organizationId: acme }), ada);
    expect(await revision()).toBe(before + 1);
    expect((await console_.own("revision", { organizationId: globex }, ada)).status).toBe(403);
  });

  test("the log names the people who made changes, and those who impersonated them", async () => {
    const host = await memoryHost({
      flags: { permission: ({ user }) => user !== undefined && user.email !== "eve@example.com" },
    });
    const console_ = mountConsole(host);
    const [root, ada, eve] = [
      await host.person("root", "admin"),
      await host.person("ada"),
      await host.person("eve"),
    ];
    await host.createFlag(flag(), ada);
    const begun = await host.call("POST", "/admin/impersonate-user", { as: root, body: { userId: ada.id } });
    const impersonated = { ...ada, headers: { cookie: cookieOf(begun.headers.getSetCookie()) } };
    await host.createFlag(flag({ key: "other" }), impersonated);
    const log = (as: typeof ada) =>
      console_.api("feature-flags/console/log?limit=10", { as, method: "POST", body: {} });
    const { json } = await log(ada);
    expect(json.entries.map(({ actor }: { actor: { id: string } }) => actor.id)).toEqual([ada.id, ada.id]);
    expect(json.entries[0].impersonatedBy).toBe(root.id);
    expect(json.names).toEqual({ [ada.id]: "ada", [root.id]: "root" });
    expect((await log(eve)).status).toBe(403);
  });
});

describe("guide/console: Permissions", () => {
  test("a user without any action does not learn how the application is set up", async () => {
    const host = await memoryHost({
      flags: {
        trusted: { selfDeclared: ["user.name"], user: ["name"] },
        environments: {
          default: "production",
          claimable: ["staging"],
          list: ["production", "staging"],
          protected: ["production"],
        },
      },
    });
    const console_ = mountConsole(host);
    const [admin, user] = [await host.person("admin", "admin"), await host.person("user")];
    expect((await console_.own("session", {}, admin)).json).toMatchObject({
      trustedPaths: ["user.name"],
      environments: {
        default: "production",
        claimable: ["staging"],
        list: ["production", "staging"],
        protected: ["production"],
      },
    });
    for (const as of [user, undefined]) {
      const { json } = await console_.own("session", {}, as);
      expect(json).toMatchObject({ trustedPaths: [], environments: {}, actions: [] });
    }
  });

  test("an admin who impersonates a user cannot make API keys of that user", async () => {
    const host = await memoryHost({ flags: { permission: () => true } });
    const console_ = mountConsole(host);
    const [root, ada] = [await host.person("root", "admin"), await host.person("ada")];
    const begun = await host.call("POST", "/admin/impersonate-user", { as: root, body: { userId: ada.id } });
    const impersonated = { ...ada, headers: { cookie: cookieOf(begun.headers.getSetCookie()) } };
    const key = { name: "k", actions: ["read"] };
    const refused = await console_.own("create-key", key, impersonated);
    expect([refused.status, refused.json.code]).toEqual([403, "PERMISSION_DENIED"]);
    expect((await console_.own("keys", {}, ada)).json.keys).toEqual([]);
    expect((await console_.own("create-key", key, ada)).status).toBe(200);
  });
});
