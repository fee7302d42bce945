/** Checks the option `permission`. */
import { describe, expect, test } from "vitest";
import { memoryHost } from "../memory-host.ts";

describe("guide/flags-permissions: Custom permission check", () => {
  test("permission replaces roles and access control, gets the owner of an API key as user, and is not called for anonymous or server calls", async () => {
    const calls: string[] = [];
    const { call, person, key, auth } = await memoryHost({
      flags: {
        permission: ({ user, key: apiKey, organizationId }, action) => {
          calls.push(`${user?.email}:${apiKey?.id}:${action}:${organizationId}`);
          return action === "read";
        },
      },
    });
    const [boss, anyone] = [await person("boss", "admin"), await person("anyone")];
    const { id } = await auth.api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean" } });
    expect((await call("GET", "/feature-flags/admin/flags")).status).toBe(401);
    expect(calls).toEqual([]);
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
    expect(calls).toEqual([
      "anyone@example.com:undefined:read:undefined",
      "boss@example.com:undefined:update:undefined",
      `boss@example.com:${updating.id}:update:undefined`,
    ]);
  });

  test("permission grants a key at most the actions of the key", async () => {
    const { call, person, key } = await memoryHost({
      flags: { permission: ({ user }) => user !== undefined },
    });
    const owner = await person("owner");
    const list = async (as: { headers: Record<string, string> }) =>
      (await call("GET", "/feature-flags/admin/flags", { as })).status;
    expect(await list(await key({ userId: owner.id }, ["read"]))).toBe(200);
    expect(await list(await key({ userId: owner.id, isPersonal: true }, ["read"]))).toBe(200);
    expect(await list(await key({ userId: owner.id }, ["update"]))).toBe(403);
    expect(await list(await key({ userId: "service:ci" }, ["read"]))).toBe(403);
  });

  test("any result other than true denies the request", async () => {
    const { call, person } = await memoryHost({ flags: { permission: () => "yes" as unknown as boolean } });
    const anyone = await person("anyone");
    expect((await call("GET", "/feature-flags/admin/flags", { as: anyone })).status).toBe(403);
  });

  test("permission grants nothing in organizations the caller does not belong to", async () => {
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
