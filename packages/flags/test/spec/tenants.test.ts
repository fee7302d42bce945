/** Checks which organization's flags a caller reads and changes with `multiTenant` on. */
import { describe, expect, test } from "vitest";
import type { Person } from "../host.ts";
import { memoryHost } from "../memory-host.ts";

describe("guide/flags-tenants: With multiTenant", () => {
  test("members get their organization's flag, else the global one; other callers get the global one", async () => {
    const { auth, evaluate, person, organization, join, key, request } = await memoryHost({
      flags: { multiTenant: true },
    });
    const [ownerA, memberA, ownerB, outsider] = [
      await person("owner-a"),
      await person("member-a"),
      await person("owner-b"),
      await person("outsider"),
    ];
    const [a, b] = [await organization(ownerA, "a"), await organization(ownerB, "b")];
    await join(memberA, a);
    const make = (organizationId: string, flagKey: string, defaultValue: string) =>
      auth.api.createFeatureFlag({
        body: {
          ...{
            key: flagKey,
            name: "N",
            type: "string" as const,
            enabled: true,
            defaultValue,
            organizationId,
          },
          tenantOverridable: organizationId === "",
        },
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
      await seen(outsider),
      await seen(),
    ]).toEqual(["A", "A", "B", "all", "all"]);
    expect(await seen(undefined, { organizationId: a })).toBe("all");
    expect(await seen(ownerB, { organizationId: a })).toBe(403);
    expect(await seen(outsider, { organizationId: "nowhere" })).toBe(403);
    expect((await evaluate({ flagKey: "global" }, memberA)).json.value).toBe("all");
    const ofA = await key({ userId: ownerA.id, organizationId: a }, []);
    expect([await seen(ofA), await seen(ofA, { organizationId: b })]).toEqual(["A", 403]);
    const ofUser = await key({ userId: ownerA.id }, []);
    expect([
      await seen(ofUser),
      await seen(ofUser, { organizationId: a }),
      await seen(ofUser, { organizationId: b }),
    ]).toEqual(["all", "A", 403]);
    const serverCall = await auth.api.evaluateFeatureFlag({
      body: { flagKey: "shared", context: { organizationId: b } },
    });
    expect(serverCall.value).toBe("B");

    const all = await request("/feature-flags/bootstrap", { select: "value" }, memberA.headers);
    expect(all.json.flags).toEqual({ shared: "A", global: "all" });
    const revision = async (as: Person) =>
      Number((await evaluate({ flagKey: "shared" }, as)).headers.get("x-feature-flags-revision"));
    expect([await revision(ownerA), await revision(outsider)]).toEqual([3, 2]);
    await make("", "another", "all");
    expect([await revision(ownerA), await revision(outsider)]).toEqual([4, 3]);
  });

  test("a flag of another organization is indistinguishable from one that does not exist", async () => {
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

  test("an owner evaluates as any user within the organization, an application admin in every organization", async () => {
    const { evaluate, person, organization } = await memoryHost({ flags: { multiTenant: true } });
    const [ownerA, boss] = [await person("owner-a"), await person("boss", "admin")];
    const a = await organization(ownerA, "a");
    const b = await organization(await person("owner-b"), "b");
    const contextOf = async (as: Person, context: object) => {
      const { status, json } = await evaluate({ flagKey: "k", context, contextInResponse: true }, as);
      return status === 200 ? json.context : status;
    };
    expect(await contextOf(ownerA, { userId: "u" })).toEqual({ userId: "u", organizationId: a });
    expect(await contextOf(ownerA, { userId: "u", organizationId: b })).toBe(403);
    expect(await contextOf(boss, { userId: "u", organizationId: b })).toEqual({
      userId: "u",
      organizationId: b,
    });
    expect(await contextOf(boss, { userId: "u" })).toEqual({ userId: "u" });
  });

  test('organizationId is required to create a flag; "" creates a global flag and needs an application admin', async () => {
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
