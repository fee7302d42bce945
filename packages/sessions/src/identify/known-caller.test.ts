import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryStore } from "../../test/memory-store.ts";
import type { CachedPrincipal } from "./cached-principal.ts";
import type { Principal } from "./caller.ts";
import type { Identities } from "./identities.ts";
import type { KeyOwner } from "./key-owner.ts";
import { recallCaller } from "./known-caller.ts";
import { PrincipalCache } from "./principal-cache.ts";

const COOKIE = "better-auth.session_token=abc.def";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** A cache with one caller, whose session the session store confirms or not. */
function setUp(caller: Principal, confirmation: "confirmed" | "changed" | "unknown" = "confirmed") {
  const { store, sessions } = createMemoryStore();
  const principals = new PrincipalCache({ sessions });
  const updatedAt = new Date();
  store.sign("ann", updatedAt);
  if (confirmation === "changed") store.end("ann");
  store.isDown = confirmation === "unknown";
  const facts = {
    caller,
    credentialId: "token-ann",
    changedAtMs: updatedAt.getTime(),
    validUntilMs: Date.now() + 3_600_000,
  };
  const principal = principals.remember(COOKIE, facts, principals.now()) as CachedPrincipal;
  const credentials = {
    sessionToken: "better-auth.session_token",
    sessionData: "better-auth.session_data",
    dontRemember: "better-auth.dont_remember",
    hasCookieCache: false,
    readsAuthorization: false,
    keyHeaders: [],
  };
  const identities: Identities = {
    principals,
    credentials,
    keyResource: "flags",
    changeListeners: new Set(),
  };
  return {
    principal,
    recall: (cookie = COOKIE) => recallCaller(identities, (name) => (name === "cookie" ? cookie : null)),
    /** What is known of the caller's organizations. */
    async ties(...organizationIds: string[]) {
      const ties = (await this.recall())?.ties;
      return [ties?.home, ...organizationIds.map((id) => ties?.tieTo(id))];
    },
    pass: (ms: number) => void vi.advanceTimersByTime(ms),
  };
}

const user = (activeOrganizationId?: string): Principal => ({
  kind: "user",
  user: {
    id: "ann",
    email: "ann@example.com",
    sessionId: "session-ann",
    ...(activeOrganizationId && { activeOrganizationId }),
  },
});
const USER = { kind: "user", user: { id: "owner", email: "o@example.com" } } as const;
const key = (owner: KeyOwner): Principal => ({
  kind: "key",
  key: { id: "k1", actions: ["read"], ownerId: "owner", owner, isPersonal: false },
});

describe("a request whose caller is known", () => {
  test("is an anonymous visitor's without credentials, who belongs to no organization", async () => {
    const caller = await setUp(user("acme")).recall("theme=dark");
    expect(caller).toMatchObject({ caller: { kind: "anonymous" }, isStale: false, principal: undefined });
    expect([caller?.ties.home, caller?.ties.tieTo("acme")]).toEqual([undefined, undefined]);
  });

  test("is that of the caller with the same credentials, at once", () => {
    const { recall, principal } = setUp(user());
    expect(recall()).toMatchObject({ caller: principal.caller, isStale: false, principal });
  });

  test("is left to Better Auth with other credentials, or with such that can be read in two ways", () => {
    const { recall } = setUp(user());
    expect(recall("better-auth.session_token=other")).toBeUndefined();
    expect(recall(`${COOKIE}; ${COOKIE}`)).toBeUndefined();
  });

  test.each([
    ["is the caller's when the session store confirms it", "confirmed", { isStale: false }],
    ["is marked as stale when the session store does not respond", "unknown", { isStale: true }],
    ["is left to Better Auth when the session has changed", "changed", undefined],
  ] as const)("%s", async (_what, confirmation, expected) => {
    const { recall, principal, pass } = setUp(user(), confirmation);
    pass(5000);
    const recalled = recall();
    expect(recalled).toBeInstanceOf(Promise);
    const caller = await recalled;
    if (expected === undefined) expect(caller).toBeUndefined();
    else expect(caller).toMatchObject({ ...expected, caller: principal.caller, principal });
  });
});

describe("the organizations of a user that need no query", () => {
  test("are none without an active organization and known memberships", async () => {
    expect(await setUp(user()).ties("acme")).toEqual([undefined, undefined]);
  });

  test("do not include the active one until the membership is known: the user may have left it", async () => {
    const at = setUp(user("acme"));
    expect(await at.ties("acme")).toEqual(["unknown", undefined]);
    at.principal.addMembership("other", { id: "m1", role: "owner" });
    expect(await at.ties("acme")).toEqual(["unknown", undefined]);
    at.principal.addMembership("acme", { id: "m2", role: "member" });
    expect(await at.ties("acme")).toEqual(["acme", { id: "m2", role: "member" }]);
  });

  test("are those with a known membership, with its role", async () => {
    const at = setUp(user());
    at.principal.addMembership("acme", { id: "m1", role: "owner" });
    expect(await at.ties("acme", "other")).toEqual([
      undefined,
      expect.objectContaining({ role: "owner" }),
      undefined,
    ]);
  });
});

describe("the organizations of an API key that need no query", () => {
  test.each([
    ["are the one that owns it", { kind: "organization" }, ["owner", {}, undefined]],
    ["are those of the user who owns it, without the user's role", USER, [undefined, undefined, {}]],
    ["are none when it belongs to no person", { kind: "service" }, [undefined, undefined, undefined]],
    ["are none when the owner's id is ambiguous", { kind: "unclear" }, [undefined, undefined, undefined]],
  ] as const)("%s", async (_what, owner, expected) => {
    const at = setUp(key(owner));
    at.principal.addMembership("acme", { id: "m1", role: "admin" });
    expect(await at.ties("owner", "acme")).toEqual(expected);
  });

  test("are none of a user without memberships", async () => {
    const at = setUp(key(USER));
    expect(await at.ties("owner", "acme")).toEqual([undefined, undefined, undefined]);
  });
});
