/** Checks who gets flag definitions, and that a revoked key loses them. */
import { createRemoteFlags } from "@halyard/flags/remote";
import { beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Host } from "../host.ts";
import { flag, memoryHost, newKey } from "../memory-host.ts";
import { NEEDED, newAdmin, newApiKey, nextChange, recordsIn, serveDefinitions, startRemote } from "./kit.ts";

/** How a server closes a socket with these headers and subprotocols. */
function refusal(
  url: string,
  protocols: string[],
  headers: Record<string, string> = {},
): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, ["halyard.v1.json", ...protocols], { headers });
    socket.on("close", (code, reason) => resolve([code, String(reason)]));
    socket.on("message", () => reject(new Error("The server sent a frame.")));
    socket.on("error", () => undefined);
  });
}

describe("guide/flags-remote: Who may connect", () => {
  let host: Host;
  let admin: { id: string; headers: Record<string, string> };
  let url: string;
  beforeEach(async () => {
    host = await memoryHost({});
    admin = await newAdmin(host);
    ({ url } = await serveDefinitions(host.auth));
  });

  test("a key without both permissions is refused, and the error names them", async () => {
    for (const actions of [["read"], ["evaluate-as"], ["create", "update", "delete"]]) {
      const { key } = await newApiKey(host, { userId: admin.id }, actions);
      const { flags } = startRemote({ url, key });
      await expect(flags.ready).rejects.toMatchObject({
        code: "PERMISSION_DENIED",
        message: expect.stringContaining('featureFlag: ["read", "evaluate-as"]'),
      });
      expect([flags.state, flags.staleMs]).toEqual(["closed", undefined]);
    }
  });

  test("a key that does not exist is refused, and no further attempt is made", async () => {
    const remote = startRemote({ url, key: "not-a-key-that-exists" });
    await expect(remote.flags.ready).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
      message: expect.stringContaining("The API key is not valid."),
    });
    expect([remote.sockets(), remote.flags.state]).toEqual([1, "closed"]);
    expect(remote.errors).toEqual([remote.flags.error?.message]);
  });

  test("a browser is refused even with a valid key and from the same origin", async () => {
    const { key } = await newApiKey(host, { userId: admin.id });
    const origin = url.replace("ws:", "http:").slice(0, -1);
    expect(await refusal(url, [`bearer.${key}`], { origin })).toEqual([
      4403,
      "Browsers may not read flag definitions.",
    ]);
  });

  test("a session is not enough, and neither is no credential", async () => {
    const { token } =
      (await host.auth.api.getSession({ headers: new Headers(admin.headers) }))?.session ?? {};
    expect((await refusal(url, [`bearer.${token}`]))[0]).toBe(4401);
    expect((await refusal(url, []))[0]).toBe(4401);
    expect((await refusal(url, [], admin.headers))[0]).toBe(4403);
  });

  test("an empty key and an address that cannot be used fail at once", async () => {
    expect(() => createRemoteFlags({ url, key: "" })).toThrow("key is empty");
    const { flags } = startRemote({ url: "ftp://localhost/", key: "k" });
    await expect(flags.ready).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("guide/flags-remote: A revoked key", () => {
  test("a key that is deleted, disabled, expired or without its permissions ends the connection, and reads keep their last values", async () => {
    const host = await memoryHost({});
    const admin = await newAdmin(host);
    const { url } = await serveDefinitions(host.auth);
    const name = newKey();
    await host.auth.api.createFeatureFlag({ body: flag({ key: name, enabled: true, defaultValue: "v" }) });
    const start = async () => {
      const { id, key } = await newApiKey(host, { userId: admin.id });
      const remote = startRemote({ url, key });
      await remote.flags.ready;
      return { id, remote };
    };
    const kept = await start();
    const updates = [
      undefined,
      { enabled: false },
      { expiresAt: new Date(0) },
      { permissions: JSON.stringify({ featureFlag: ["read"] }) },
    ];
    const revoked = await Promise.all(updates.map(start));
    for (const [at, update] of updates.entries()) {
      const where = [{ field: "id", value: revoked[at]?.id ?? "" }];
      if (update === undefined) await host.adapter.delete({ model: "apikey", where });
      else await host.adapter.update({ model: "apikey", where, update });
    }
    for (const { remote } of revoked) {
      await expect.poll(() => remote.flags.state, { timeout: 5_000 }).toBe("closed");
      expect(remote.flags.error).toMatchObject({
        code: "UNAUTHENTICATED",
        message: expect.stringContaining("The API key was revoked, has expired or lost its permissions."),
      });
      expect(remote.flags.getValue(name)).toBe("v");
      expect(remote.flags.staleMs).toBeGreaterThanOrEqual(0);
      expect(remote.sockets()).toBe(1);
    }
    expect(kept.remote.flags.state).toBe("live");
  });

  test("a key whose owner is banned, removed or demoted loses its connection within 2 s, in both modes", async () => {
    for (const multiTenant of [false, true]) {
      const host = await memoryHost({ flags: { multiTenant } });
      const { url } = await serveDefinitions(host.auth);
      const start = async (name: string, isPersonal: boolean) => {
        const owner = await host.person(`${name}-${isPersonal}`, "admin");
        const { key } = await newApiKey(host, { userId: owner.id, isPersonal });
        const remote = startRemote({ url, key });
        await remote.flags.ready;
        return { id: owner.id, remote };
      };
      const update = (id: string, fields: object) =>
        host.adapter.update({ model: "user", where: [{ field: "id", value: id }], update: fields });
      const ends = [
        { lost: await start("banned", false), by: (id: string) => update(id, { banned: true }) },
        { lost: await start("banned", true), by: (id: string) => update(id, { banned: true }) },
        {
          lost: await start("removed", true),
          by: (id: string) => host.adapter.delete({ model: "user", where: [{ field: "id", value: id }] }),
        },
        { lost: await start("demoted", true), by: (id: string) => update(id, { role: "user" }) },
      ];
      const service = await newApiKey(host, { userId: "service:worker" });
      const kept = startRemote({ url, key: service.key });
      await kept.flags.ready;
      await Promise.all(ends.map(({ lost, by }) => by(lost.id)));
      const closed = ends.map(({ lost }) =>
        expect.poll(() => lost.remote.flags.state, { timeout: 2_000, interval: 20 }).toBe("closed"),
      );
      await Promise.all(closed);
      expect(kept.flags.state).toBe("live");
    }
  });

  test("a key that cannot be checked does not keep the connection of a revoked one open", async () => {
    let throwsFor: string | undefined;
    const host = await memoryHost({
      flags: {
        permission({ key }) {
          if (key?.id === throwsFor) throw new Error("The permission check of the host failed.");
          return true;
        },
      },
    });
    await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    const admin = await newAdmin(host);
    const { url } = await serveDefinitions(host.auth);
    const start = async () => {
      const { id, key } = await newApiKey(host, { userId: admin.id });
      const remote = startRemote({ url, key });
      await remote.flags.ready;
      return { id, remote };
    };
    // Keys are checked in the order of their connections.
    const [unclear, revoked] = [await start(), await start()];
    throwsFor = unclear.id;
    await host.adapter.delete({ model: "apikey", where: [{ field: "id", value: revoked.id }] });
    await expect.poll(() => revoked.remote.flags.state, { timeout: 5_000 }).toBe("closed");
    expect(unclear.remote.flags.state).toBe("live");
  });
});

describe("guide/flags-remote: Organizations", () => {
  async function twoOrganizations() {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const { api } = host.auth;
    const ada = await host.person("ada");
    const bob = await host.person("bob");
    const acme = await host.organization(ada, "acme");
    const globex = await host.organization(bob, "globex");
    const make = (key: string, organizationId: string, fields: object = {}) =>
      api.createFeatureFlag({
        body: flag({ key, organizationId, enabled: true, defaultValue: `canary-${key}`, ...fields }),
      });
    await make("shared", "");
    await make("replaced", "", { tenantOverridable: true });
    await make("replaced", acme, { defaultValue: "acme's own" });
    await make("of-acme", acme);
    await make("of-globex", globex);
    await api.createFeatureFlagSegment({
      body: { key: "used", organizationId: acme, conditions: { conditions: [] } },
    });
    await api.createFeatureFlagSegment({
      body: { key: "unused", organizationId: acme, conditions: { conditions: [] } },
    });
    const { url } = await serveDefinitions(host.auth);
    return { host, api, ada, bob, acme, globex, url };
  }

  test("an organization's key gets its own and the global flags, and no other organization's", async () => {
    const { host, ada, acme, url } = await twoOrganizations();
    const { key } = await newApiKey(host, { userId: ada.id, organizationId: acme });
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    const read = (name: string) => remote.flags.getValue(name, {}, "none");
    expect(["shared", "replaced", "of-acme", "of-globex"].map(read)).toEqual([
      "canary-shared",
      "acme's own",
      "canary-of-acme",
      "none",
    ]);
    expect(remote.frames.join()).not.toContain("globex");
    expect(remote.frames.join()).not.toContain("canary-replaced");
  });

  test("only the segments that its flags use are sent", async () => {
    const { host, api, ada, acme, url } = await twoOrganizations();
    const { key } = await newApiKey(host, { userId: ada.id, organizationId: acme });
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    const changed = nextChange(remote);
    await api.createFeatureFlagRule({
      query: { organizationId: acme },
      body: {
        flagId: "key:of-acme",
        priority: 1,
        conditions: { conditions: [{ segment: "used" }] },
        value: "rule",
      },
    });
    await changed;
    expect(remote.flags.getValue("of-acme")).toBe("rule");
    expect(recordsIn(remote.frames).filter(([kind]) => kind === "s")).toEqual([
      ["s", 1, "used", { conditions: [] }],
    ]);
  });

  test("an evaluation for another organization throws, and reads use the default", async () => {
    const { host, ada, acme, globex, url } = await twoOrganizations();
    const { key } = await newApiKey(host, { userId: ada.id, organizationId: acme });
    const { flags } = startRemote({ url, key });
    await flags.ready;
    const context = { organizationId: globex };
    expect(() => flags.evaluate("shared", { context })).toThrow("Create remote flags for each organization.");
    expect(flags.getValue("shared", { context }, "default")).toBe("default");
    expect(flags.getValue("shared", { context: { organizationId: acme } })).toBe("canary-shared");
  });

  test("a user's key names one of the user's organizations, and loses it with the membership", async () => {
    const { host, ada, bob, acme, globex, url } = await twoOrganizations();
    await host.join(bob, acme);
    const { key } = await newApiKey(host, { userId: bob.id }, NEEDED);
    const remote = startRemote({ url, key, organizationId: acme });
    await remote.flags.ready;
    expect(remote.flags.getValue("of-acme")).toBe("canary-of-acme");
    const foreign = await newApiKey(host, { userId: ada.id });
    await expect(
      startRemote({ url, key: foreign.key, organizationId: globex }).flags.ready,
    ).rejects.toMatchObject({
      code: "PERMISSION_DENIED",
    });
    await expect(startRemote({ url, key }).flags.ready).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    const where = [
      { field: "userId", value: bob.id },
      { field: "organizationId", value: acme },
    ];
    await host.adapter.delete({ model: "member", where });
    await expect.poll(() => remote.flags.state, { timeout: 5_000 }).toBe("closed");
  });

  test("an admin's key without an organization gets the global flags only", async () => {
    const { host, url } = await twoOrganizations();
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    expect(remote.flags.getValue("shared")).toBe("canary-shared");
    expect(remote.frames.join()).not.toMatch(/acme|globex/);
  });

  test("only the settings and rules of the chosen environment are sent", async () => {
    const host = await memoryHost({ flags: { environments: { default: "production" } } });
    const name = newKey();
    const environments = { production: { defaultValue: "canary-p" }, staging: { defaultValue: "canary-s" } };
    await host.auth.api.createFeatureFlag({ body: flag({ key: name, enabled: true, environments }) });
    const ruled = await host.auth.api.createFeatureFlag({ body: flag({ key: newKey(), enabled: true }) });
    for (const [environment, value] of [
      ["production", "rule-p"],
      ["staging", "rule-s"],
    ] as const) {
      const rule = { priority: 1, conditions: { conditions: [] }, value, environments: [environment] };
      await host.auth.api.createFeatureFlagRule({ body: { flagId: ruled.id, ...rule } });
    }
    const { url } = await serveDefinitions(host.auth);
    const { key } = await newApiKey(host, { userId: (await newAdmin(host)).id });
    const production = startRemote({ url, key });
    const staging = startRemote({ url, key, environment: "staging" });
    await Promise.all([production.flags.ready, staging.flags.ready]);
    expect([production.flags.getValue(name), staging.flags.getValue(name)]).toEqual(["canary-p", "canary-s"]);
    expect([production.flags.getValue(ruled.key), staging.flags.getValue(ruled.key)]).toEqual([
      "rule-p",
      "rule-s",
    ]);
    expect(production.frames.join()).not.toMatch(/canary-s|rule-s|"environments":\[/);
    expect(staging.frames.join()).not.toMatch(/canary-p|rule-p|"environments":\[/);
  });
});
