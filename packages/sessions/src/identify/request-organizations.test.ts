import { beforeEach, describe, expect, test } from "vitest";
import { remember, startHost } from "../../test/endpoint-host.ts";
import type { KeyOwner } from "./key-owner.ts";
import { type KnownCaller, recallCaller } from "./known-caller.ts";
import { RequestIdentity } from "./request-identity.ts";

const KEY = { "x-api-key": "secret" };

let host: Awaited<ReturnType<typeof startHost>>;
let cookie: { cookie: string };
beforeEach(async () => {
  host = await startHost();
  cookie = { cookie: host.cookie };
});

/** What the fast path knows of the caller. */
const recall = async (headers: Record<string, string>) =>
  (await recallCaller(host.identities, (name) => headers[name])) as KnownCaller;

describe("the organizations of a caller", () => {
  const user = () => ({ kind: "user" as const, user: { id: host.userId, email: "ann@example.com" } });
  const key = (
    ownerId = host.userId,
    owner: KeyOwner = { kind: "user", user: { id: ownerId, email: "ann@example.com" } },
  ) => ({
    kind: "key" as const,
    key: { id: "k1", actions: ["read"], ownerId, owner, isPersonal: false },
  });
  const ORGANIZATION = { kind: "organization" } as const;
  /** How many organizations and members were read since the last call. */
  const reads = () => {
    const count = host.queries.mock.calls.filter(([{ model }]) => ["member", "organization"].includes(model));
    host.queries.mockClear();
    return count.length;
  };

  test("are those a user is a member of, with the role", async () => {
    await host.ask(cookie, async (identity) => {
      expect(await identity.tieTo(user(), "acme")).toEqual({ role: "owner" });
      expect(await identity.tieTo(user(), "other")).toBeUndefined();
      expect(await identity.roleIn("bob", "acme")).toBeUndefined();
      expect([await identity.organizationExists("acme"), await identity.organizationExists("other")]).toEqual(
        [true, false],
      );
    });
  });

  test("are read once for a request", async () => {
    await host.ask(cookie, async (identity) => {
      await Promise.all([identity.roleIn(host.userId, "acme"), identity.roleIn(host.userId, "acme")]);
      await identity.roleIn(host.userId, "acme");
      expect(reads()).toBe(1);
      expect(await identity.roleIn(host.userId, "\0")).toBeUndefined();
      expect(reads()).toBe(0);
    });
  });

  test("start with the user's active one, unless the user has left it", async () => {
    const active = (activeOrganizationId: string) => ({
      kind: "user" as const,
      user: { ...user().user, activeOrganizationId },
    });
    await host.ask(cookie, async (identity) => {
      expect(await identity.homeOf(user())).toBeUndefined();
      expect(await identity.homeOf(active("acme"))).toBe("acme");
      expect(await identity.homeOf(active("left"))).toBeUndefined();
    });
  });

  test("are those of the user who owns an API key, without the user's role", async () => {
    await host.ask(KEY, async (identity) => {
      expect(await identity.tieTo(key(), "acme")).toEqual({});
      expect(await identity.tieTo(key(), "other")).toBeUndefined();
      expect(await identity.homeOf(key())).toBeUndefined();
    });
  });

  test("are the one that owns an API key", async () => {
    await host.ask(KEY, async (identity) => {
      expect(await identity.tieTo(key("acme", ORGANIZATION), "acme")).toEqual({});
      expect(await identity.tieTo(key("acme", ORGANIZATION), "other")).toBeUndefined();
      expect(await identity.homeOf(key("acme", ORGANIZATION))).toBe("acme");
    });
  });

  test("are none of an API key whose owner's id is that of a user and of an organization", async () => {
    host.tables["organization"]?.push({ id: host.userId, name: "Same id", slug: "same" });
    const permissions = { flags: ["read"] };
    host.keys.set("secret", { valid: true, key: { id: "k1", referenceId: host.userId, permissions } });
    await host.ask(KEY, async (identity) => {
      const caller = await identity.administrator();
      if (caller.kind !== "key") throw new Error("The key was not found.");
      expect(caller.key.owner).toEqual({ kind: "unclear" });
      expect(await identity.tieTo(caller, "acme")).toBeUndefined();
      expect(await identity.tieTo(caller, host.userId)).toBeUndefined();
      expect(await identity.homeOf(caller)).toBeUndefined();
    });
  });

  test("are all that exist of an API key that belongs to no person", async () => {
    await host.ask(KEY, async (identity) => {
      const service = key("service:billing", { kind: "service" });
      expect(await identity.tieTo(service, "acme")).toEqual({});
      expect(await identity.tieTo(service, "other")).toBeUndefined();
      expect(await identity.homeOf(service)).toBeUndefined();
    });
  });

  test("are remembered with a verified user, but not those of another user", async () => {
    host.tables["member"]?.push({ id: "m2", userId: "bob", organizationId: "bobs", role: "owner" });
    await host.ask(cookie, async (identity) => {
      await remember(identity);
      expect(await identity.roleIn(host.userId, "acme")).toBe("owner");
      expect(await identity.roleIn("bob", "bobs")).toBe("owner");
      expect(await identity.roleIn(host.userId, "other")).toBeUndefined();
    });
    const known = await recall(cookie);
    expect(["acme", "bobs", "other"].map((id) => known.ties.tieTo(id)?.role)).toEqual([
      "owner",
      undefined,
      undefined,
    ]);
    reads();
    await host.ask(cookie, async (_, request) => {
      const identity = new RequestIdentity(request, host.identities, known);
      expect(await identity.roleIn(host.userId, "acme")).toBe("owner");
      expect(reads()).toBe(0);
      expect(await identity.roleIn("bob", "acme")).toBeUndefined();
      expect(reads()).toBe(1);
    });
  });

  test("are not remembered when a member has no id by which a change would be found", async () => {
    Object.assign(host.tables["member"]?.[0] ?? {}, { id: undefined });
    await host.ask(cookie, async (identity) => {
      await remember(identity);
      expect(await identity.roleIn(host.userId, "acme")).toBe("owner");
    });
    expect((await recall(cookie)).ties.tieTo("acme")).toBeUndefined();
  });

  test("are remembered with a verified API key, with the kind of its owner", async () => {
    const owned = { id: "k1", referenceId: host.userId, permissions: { flags: [] }, rateLimitEnabled: false };
    host.keys.set("secret", { valid: true, key: owned });
    await host.ask(KEY, async (identity) => {
      await remember(identity);
      expect(await identity.tieTo(key(), "acme")).toEqual({});
    });
    expect((await recall(KEY)).ties.tieTo("acme")).toEqual({});
    reads();
    await host.ask(KEY, async (_, request) => {
      const identity = new RequestIdentity(request, host.identities, await recall(KEY));
      expect(await identity.tieTo(key(), "acme")).toEqual({});
      expect(await identity.homeOf(key())).toBeUndefined();
    });
    expect(reads()).toBe(0);
  });

  test("of an API key say nothing about those of a user's session", async () => {
    await host.ask(cookie, async (identity) => {
      await remember(identity);
      expect(await identity.homeOf(key("acme", ORGANIZATION))).toBe("acme");
      expect(await identity.homeOf(key())).toBeUndefined();
    });
  });

  test("are taken from memory while the session store does not respond, and are otherwise an error", async () => {
    await host.ask(cookie, async (identity) => {
      await remember(identity);
      await identity.roleIn(host.userId, "acme");
    });
    host.reads.mockRejectedValue(new Error("down"));
    await host.ask(cookie, async (identity) => {
      await identity.evaluator();
      expect(await identity.roleIn(host.userId, "acme")).toBe("owner");
      await expect(identity.roleIn(host.userId, "other")).rejects.toMatchObject({
        problem: "unavailable",
        cause: expect.objectContaining({ message: expect.stringContaining("does not respond") }),
      });
    });
  });
});
