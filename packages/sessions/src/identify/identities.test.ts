import { type BetterAuthOptions, betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { afterEach, describe, expect, test, vi } from "vitest";
import { changeFeedOf } from "../changes/change-feed.ts";
import { createIdentities, type Identities } from "./identities.ts";

const HOUR = 3_600_000;

async function startContext(more: BetterAuthOptions = {}) {
  const options: BetterAuthOptions = {
    baseURL: "http://auth.example",
    secret: "a secret for tests that is long enough 0123456789",
    database: memoryAdapter({ user: [], session: [] }),
    logger: { disabled: true },
    telemetry: { enabled: false },
    ...more,
  };
  return betterAuth(options).$context;
}

/** Remembers a user whose rows have not changed for an hour. */
function signIn({ principals }: Identities, name: string): void {
  const user = { id: name, email: `${name}@example.com`, sessionId: `session-${name}` };
  const facts = {
    caller: { kind: "user" as const, user },
    credentialId: `token-${name}`,
    changedAtMs: Date.now() - HOUR,
    validUntilMs: Date.now() + HOUR,
  };
  principals.remember(name, facts, principals.now());
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the identities of an auth instance", () => {
  test("are created once, with the options of the first call", async () => {
    const context = await startContext();
    const identities = createIdentities(context, { keyResource: "flags" });
    expect(createIdentities(context, { keyResource: "other" })).toBe(identities);
    expect(identities.keyResource).toBe("flags");
    expect(identities.credentials.sessionToken).toBe("better-auth.session_token");
    const another = createIdentities(await startContext(), { keyResource: "other" });
    expect([another === identities, another.keyResource]).toEqual([false, "other"]);
  });

  test("forget a caller at once when this process changes the caller's rows", async () => {
    const context = await startContext();
    const identities = createIdentities(context, { keyResource: "flags" });
    const heard: unknown[] = [];
    identities.changeListeners.add((change) => heard.push(change));
    for (const name of ["ann", "bob"]) signIn(identities, name);
    const feed = changeFeedOf(context);
    feed.apply({ kind: "organization-row", id: "acme" });
    feed.apply({ kind: "session-rows" });
    expect(identities.principals.size).toBe(2);
    feed.apply({ kind: "user", id: "ann" });
    expect(identities.principals.recall("ann")).toBeUndefined();
    expect(identities.principals.recall("bob")).toBeDefined();
    expect(heard).toHaveLength(3);
  });
});

describe("a verification that is 5 s old", () => {
  /** Whether the session store is asked if it still holds. Otherwise Better Auth must verify the credentials again. */
  async function isConfirmed(options: BetterAuthOptions = {}): Promise<boolean> {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    const context = await startContext(options);
    const read = vi.spyOn(context.adapter, "findMany");
    const identities = createIdentities(context, { keyResource: "flags" });
    signIn(identities, "ann");
    vi.advanceTimersByTime(5000);
    // The database has no such session.
    expect(await identities.principals.recall("ann")).toBeUndefined();
    return read.mock.calls.length > 0;
  }
  const secondaryStorage = { get: () => null, set: () => {}, delete: () => {} };

  test("is renewed by a query where sessions are in the database only", async () => {
    expect(await isConfirmed()).toBe(true);
    expect(await isConfirmed({ session: {} })).toBe(true);
    expect(await isConfirmed({ session: { cookieCache: { enabled: false } } })).toBe(true);
    vi.stubGlobal("navigator", undefined);
    expect(await isConfirmed()).toBe(true);
  });

  test.each([
    ["the database does not have all sessions", { secondaryStorage }],
    ["a cookie carries a copy of the session", { session: { cookieCache: { enabled: true } } }],
    ["sessions are in cookies only", { database: undefined }],
  ] as [string, BetterAuthOptions][])("does not count where %s", async (_what, options) => {
    expect(await isConfirmed(options)).toBe(false);
  });

  test("does not count in Cloudflare Workers, where a request cannot wait for another one's query", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    expect(await isConfirmed()).toBe(false);
  });
});
