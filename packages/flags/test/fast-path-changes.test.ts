/** Checks that a change of a caller counts at once on the fast path of the process that makes it. */
import { getCurrentAdapter, runWithTransaction } from "@better-auth/core/context";
import { describe, expect, test } from "vitest";
import type { Person } from "./host.ts";
import { memoryHost } from "./memory-host.ts";
import { type WrappedHost, wrapHost } from "./wrapped-host.ts";

type Call = (input: object) => Promise<unknown>;

/** An organization with an owner and a member whose session the fast path knows, all in one process. */
async function setUp(auth: NonNullable<Parameters<typeof wrapHost>[1]>["auth"] = {}) {
  const host = await memoryHost({ flags: { multiTenant: true } });
  const node = await wrapHost(host, { auth, flags: { multiTenant: true } });
  const [owner, member] = [await host.person("owner"), await host.person("member")];
  const root = await host.person("root", "admin");
  const acme = await host.organization(owner, "acme");
  await host.join(member, acme);
  const { adapter } = await node.auth.$context;
  const where = [
    { field: "userId", value: member.id },
    { field: "organizationId", value: acme },
  ];
  const memberId = (await adapter.findOne<{ id: string }>({ model: "member", where }))?.id ?? "";
  const contextOf = async (person: Person) => {
    const { json, isFast } = await node.ask(
      "evaluate",
      { flagKey: "none", contextInResponse: true },
      person.headers,
    );
    return { ...(json["context"] as Record<string, unknown>), isFast };
  };
  /** Calls an endpoint of the process with the fast path. */
  const call = (name: string, as: Person, body: object = {}) => {
    const api = node.auth.api as unknown as Record<string, Call>;
    return api[name]?.({ body, headers: new Headers(as.headers) });
  };
  return { host, node, adapter, owner, member, root, acme, memberId, contextOf, call };
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

const anonymous = {};
const outside = (at: SetUp) => ({ userId: at.member.id, email: at.member.email, role: "user" });
const inside = (at: SetUp, role: string) => ({
  ...outside(at),
  organizationId: at.acme,
  attributes: { organizationRole: role },
});

describe("counts for the next request in the same process:", () => {
  test.each<[string, (at: SetUp) => Promise<unknown> | undefined, (at: SetUp) => object]>([
    ["a sign-out", (at) => at.call("signOut", at.member), () => anonymous],
    ["the end of all sessions", (at) => at.call("revokeSessions", at.member), () => anonymous],
    ["a ban", (at) => at.call("banUser", at.root, { userId: at.member.id }), () => anonymous],
    [
      "a new role in the application",
      (at) => at.call("setRole", at.root, { userId: at.member.id, role: "admin" }),
      (at) => ({ ...inside(at, "member"), role: "admin" }),
    ],
    [
      "a removed member",
      (at) =>
        at.call("removeMember", at.owner, { memberIdOrEmail: at.member.email, organizationId: at.acme }),
      outside,
    ],
    [
      "a member who leaves",
      (at) => at.call("leaveOrganization", at.member, { organizationId: at.acme }),
      outside,
    ],
    [
      "a new role in the organization",
      (at) =>
        at.call("updateMemberRole", at.owner, {
          memberId: at.memberId,
          role: "admin",
          organizationId: at.acme,
        }),
      (at) => inside(at, "admin"),
    ],
    [
      "a deleted organization",
      (at) => at.call("deleteOrganization", at.owner, { organizationId: at.acme }),
      outside,
    ],
    [
      "another active organization",
      (at) => at.call("setActiveOrganization", at.member, { organizationId: null }),
      outside,
    ],
    [
      "a membership that the host's code deletes by the adapter",
      (at) => at.adapter.delete({ model: "member", where: [{ field: "id", value: at.memberId }] }),
      outside,
    ],
    [
      "memberships that the host's code deletes in a transaction",
      (at) =>
        runWithTransaction(at.adapter, async () => {
          const where = [{ field: "organizationId", value: at.acme }];
          await (await getCurrentAdapter(at.adapter)).deleteMany({ model: "member", where });
        }),
      outside,
    ],
    [
      "sessions that the host's code deletes by a condition on their time",
      (at) =>
        at.adapter.deleteMany({
          model: "session",
          where: [{ field: "createdAt", operator: "lt", value: new Date(Date.now() + 1000) }],
        }),
      () => anonymous,
    ],
  ])("%s", async (_what, change, expected) => {
    const at = await setUp();
    await at.contextOf(at.member);
    expect(await at.contextOf(at.member)).toEqual({ ...inside(at, "member"), isFast: true });
    await change(at);
    const { isFast: _isFast, ...context } = await at.contextOf(at.member);
    expect(context).toEqual(expected(at));
  });

  test("a sign-out, where sessions are in secondary storage", async () => {
    const stored = new Map<string, string>();
    const secondaryStorage = {
      get: (key: string) => stored.get(key) ?? null,
      set: (key: string, value: string) => void stored.set(key, value),
      delete: (key: string) => void stored.delete(key),
      getAndDelete: (key: string) => {
        const value = stored.get(key) ?? null;
        stored.delete(key);
        return value;
      },
      increment: () => 1,
    };
    const host = await memoryHost({ secondaryStorage });
    const node = await wrapHost(host);
    const person = await host.person("person");
    const ask = () => node.ask("evaluate", { flagKey: "none", contextInResponse: true }, person.headers);
    await ask();
    expect(await ask()).toMatchObject({ isFast: true, json: { context: { userId: person.id } } });
    await node.auth.api.signOut({ headers: new Headers(person.headers) });
    expect((await ask()).json["context"]).toEqual({});
  });
});

describe("counts for the next request, although a request was being identified at that moment:", () => {
  /** Delays the next query for this model after it has read, until `release` is called. */
  async function holdNextRead(node: WrappedHost, model: string) {
    const { adapter } = await node.auth.$context;
    const { findOne } = adapter;
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    adapter.findOne = async (input) => {
      const row = await findOne(input);
      if (input.model !== model) return row as never;
      adapter.findOne = findOne;
      held.resolve();
      await released.promise;
      return row as never;
    };
    return { held: held.promise, release: released.resolve };
  }

  test.each<[string, string, (at: SetUp) => Promise<unknown> | undefined, (at: SetUp) => object]>([
    ["a sign-out", "session", (at) => at.call("signOut", at.member), () => anonymous],
    [
      "another active organization",
      "session",
      (at) => at.call("setActiveOrganization", at.member, { organizationId: null }),
      outside,
    ],
    [
      "a removed member",
      "member",
      (at) => at.call("removeMember", at.owner, { memberIdOrEmail: at.memberId, organizationId: at.acme }),
      outside,
    ],
    [
      "a new role in the organization",
      "member",
      (at) =>
        at.call("updateMemberRole", at.owner, {
          memberId: at.memberId,
          role: "admin",
          organizationId: at.acme,
        }),
      (at) => inside(at, "admin"),
    ],
  ])("%s", async (_what, model, change, expected) => {
    const at = await setUp();
    const { held, release } = await holdNextRead(at.node, model);
    const early = at.contextOf(at.member);
    await held;
    await change(at);
    release();
    expect(await early).toMatchObject(inside(at, "member"));
    const { isFast: _isFast, ...context } = await at.contextOf(at.member);
    expect(context).toEqual(expected(at));
  });
});

describe("the principal cache", () => {
  const sizeOf = async (node: WrappedHost) => {
    const text = await node.auth.api.getFeatureFlagsMetrics();
    return Number(/^halyard_flags_sessions_remembered (\d+)$/m.exec(text)?.[1]);
  };

  test("has one entry for a session, whatever unsigned cookies come with it", async () => {
    const { node, member } = await setUp();
    for (let value = 0; value < 20; value++) {
      const cookie = `${member.headers["cookie"]}; better-auth.dont_remember=${value}; other=${value}`;
      expect(await node.ask("evaluate", { flagKey: "none" }, { cookie })).toMatchObject({ status: 200 });
    }
    expect(await sizeOf(node)).toBe(1);
  });

  test("has at most 8 entries for a session, however its cookie is encoded", async () => {
    const { node, member } = await setUp();
    const [name = "", value = ""] = member.headers["cookie"]?.split("=", 2) ?? [];
    for (let at = 0; at < 20; at++) {
      const encoded = `%${value.charCodeAt(at).toString(16)}`;
      const cookie = `${name}=${value.slice(0, at)}${encoded}${value.slice(at + 1)}`;
      const body = { flagKey: "none", contextInResponse: true };
      const { json } = await node.ask("evaluate", body, { cookie });
      expect(json["context"]).toMatchObject({ userId: member.id });
    }
    expect(await sizeOf(node)).toBe(8);
  });

  test("keeps nothing of requests over the rate limit", async () => {
    const host = await memoryHost();
    const rules = { evaluate: { max: 3, windowSeconds: 3600 } };
    const node = await wrapHost(host, {
      auth: { rateLimit: { enabled: true } },
      flags: { rateLimit: { rules } },
    });
    const person = await host.person("person");
    const [name = "", value = ""] = person.headers["cookie"]?.split("=", 2) ?? [];
    const statuses: number[] = [];
    for (let at = 0; at < 6; at++) {
      const cookie = `${name}=%${value.charCodeAt(0).toString(16)}${value.slice(1)}; n=${at}`;
      const { status } = await node.ask(
        "evaluate",
        { flagKey: "none" },
        at < 3 ? person.headers : { cookie },
      );
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
    expect(await sizeOf(node)).toBe(1);
  });
});
