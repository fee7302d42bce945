import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { remember, startHost } from "../../test/endpoint-host.ts";
import { type KnownCaller, recallCaller } from "./known-caller.ts";
import type { IdentityRequest } from "./request.ts";
import { RequestIdentity } from "./request-identity.ts";

type Host = Awaited<ReturnType<typeof startHost>>;

const KEY = { "x-api-key": "secret" };
const ANONYMOUS = { kind: "anonymous" };
const NOT_SIGNED_IN = { problem: "not-signed-in", message: expect.stringContaining("x-api-key") };
const UNAVAILABLE = { problem: "unavailable" };

let host: Host;
let cookie: { cookie: string };
beforeEach(async () => {
  host = await startHost();
  cookie = { cookie: host.cookie };
});
afterEach(() => void vi.useRealTimers());

/** Makes the API key valid, for its owner. */
function grantKey(ownerId = host.userId, fields: object = {}): void {
  const permissions = { flags: ["read"] };
  const key = { id: "k1", referenceId: ownerId, permissions, rateLimitEnabled: false, ...fields };
  host.keys.set("secret", { valid: true, key });
}
/** The key plugin cannot read its store. */
const breakKeys = () =>
  host.keys.set("secret", { valid: false, key: null, error: { code: "INVALID_API_KEY", message: {} } });
const breakSessions = () => void host.reads.mockRejectedValue(new Error("down"));
const endSession = () => void host.tables["session"]?.splice(0);
/** What the fast path knows of the caller. */
const recall = async (headers: Record<string, string>) =>
  (await recallCaller(host.identities, (name) => headers[name])) as KnownCaller;

describe("the caller of a request", () => {
  test("is the server in a call by the application's own code, and an anonymous visitor in a call with empty headers", async () => {
    await host.ask(undefined, async (identity) => {
      expect(await identity.evaluator()).toEqual({ kind: "server" });
      expect(await identity.administrator()).toEqual({ kind: "server" });
    });
    await host.ask({}, async (identity) => {
      expect(await identity.evaluator()).toEqual(ANONYMOUS);
      await expect(identity.administrator()).rejects.toMatchObject(NOT_SIGNED_IN);
      expect(identity.isStale).toBe(false);
    });
  });

  test("is the user of the session, read once for evaluations and once more for what needs a permission", async () => {
    await host.ask(cookie, async (identity) => {
      const caller = await identity.evaluator();
      expect(caller).toMatchObject({ kind: "user", user: { id: host.userId } });
      expect(await identity.evaluator()).toBe(caller);
      expect(host.reads).toHaveBeenCalledTimes(1);
      expect(await identity.administrator()).toEqual(caller);
      await identity.administrator();
      expect(host.reads).toHaveBeenCalledTimes(2);
    });
    await host.ask(cookie, async (identity) => {
      const administrator = await identity.administrator();
      expect(await identity.evaluator()).toBe(administrator);
      expect(host.reads).toHaveBeenCalledTimes(3);
    });
  });

  test("is the API key rather than the session, with the actions it grants", async () => {
    grantKey();
    await host.ask({ ...cookie, ...KEY }, async (identity) => {
      const owner = { kind: "user", user: { id: host.userId, email: "ann@example.com", role: "user" } };
      const key = { id: "k1", actions: ["read"], ownerId: host.userId, owner, isPersonal: false };
      expect(await identity.evaluator()).toEqual({ kind: "key", key });
      expect(await identity.administrator()).toEqual({ kind: "key", key });
    });
    expect(host.reads).not.toHaveBeenCalled();
  });

  test("is not the session's user when the API key is not valid", async () => {
    await host.ask({ ...cookie, ...KEY }, async (identity) => {
      await expect(identity.evaluator()).rejects.toMatchObject({ problem: "invalid-key" });
      await expect(identity.administrator()).rejects.toMatchObject({ problem: "invalid-key" });
    });
  });

  test("is an anonymous visitor while the user is banned, by Better Auth or by SQL", async () => {
    Object.assign(host.row("user"), { banned: true, banExpires: new Date(Date.now() + 60_000) });
    const ask = () => host.ask(cookie, async (identity) => identity.evaluator());
    expect(await ask()).toEqual(ANONYMOUS);
    await host.ask(cookie, async (identity) => {
      await expect(identity.administrator()).rejects.toMatchObject(NOT_SIGNED_IN);
    });
    Object.assign(host.row("user"), { banExpires: new Date(0) });
    expect(await ask()).toMatchObject({ kind: "user" });
  });

  test("is confirmed by the session store, and is no longer known when the session has ended", async () => {
    await host.ask(cookie, async (identity) => {
      const caller = await identity.evaluator();
      if (caller.kind !== "user") throw new Error("The user was not found.");
      expect(await identity.confirm(caller)).toEqual(caller);
      expect(await identity.confirmIfKnown(caller)).toEqual(caller);
      endSession();
      expect(await identity.confirmIfKnown(caller)).toBeUndefined();
      await expect(identity.confirm(caller)).rejects.toMatchObject(NOT_SIGNED_IN);
      breakSessions();
      await expect(identity.confirmIfKnown(caller)).rejects.toMatchObject(UNAVAILABLE);
      const owner = { kind: "organization" } as const;
      const key = {
        kind: "key" as const,
        key: { id: "k1", actions: [], ownerId: "acme", owner, isPersonal: false },
      };
      expect(await identity.confirm(key)).toBe(key);
    });
  });
});

describe("a verified caller", () => {
  test("is remembered when the request is within its rate limit, before or after it is identified", async () => {
    const { principals } = host.identities;
    await host.ask(cookie, async (identity) => {
      const caller = await identity.evaluator();
      expect([principals.size, identity.lastVerified]).toEqual([0, undefined]);
      identity.markCounted();
      expect([principals.size, identity.lastVerified]).toEqual([1, caller]);
    });
    grantKey();
    await host.ask(KEY, remember);
    expect(principals.size).toBe(2);
    expect(await recall(cookie)).toMatchObject({ caller: { kind: "user" } });
    expect(await recall(KEY)).toMatchObject({ caller: { kind: "key" } });
  });

  test("is not remembered when the key plugin counts each use of the key", async () => {
    grantKey(host.userId, { remaining: 5 });
    expect(await host.ask(KEY, remember)).toMatchObject({ kind: "key" });
    expect(host.identities.principals.size).toBe(0);
  });

  test("is not remembered when the credentials are too long, or not in a list of headers", async () => {
    const long = "k".repeat(4096);
    host.keys.set(long, { valid: true, key: { id: "k1" } });
    const callers = [
      await host.ask({ ...cookie, "x-api-key": long }, remember),
      await host.ask({}, (_, { context }) => {
        const plain = { context, headers: cookie, responseHeaders: new Headers() };
        return remember(new RequestIdentity(plain as unknown as IdentityRequest, host.identities));
      }),
    ];
    expect(callers).toMatchObject([{ user: { id: host.userId } }, { user: { id: host.userId } }]);
    expect(host.identities.principals.size).toBe(0);
  });

  test("that the fast path has recalled is not read again, except for what needs a permission", async () => {
    await host.ask(cookie, remember);
    const known = await recall(cookie);
    await host.ask(cookie, async (_, request) => {
      const identity = new RequestIdentity(request, host.identities, known);
      expect(await identity.evaluator()).toBe(known.caller);
      expect([identity.isStale, host.reads.mock.calls.length]).toEqual([false, 1]);
      const stale = new RequestIdentity(request, host.identities, { ...known, isStale: true });
      expect(stale.isStale).toBe(true);
      endSession();
      await expect(identity.administrator()).rejects.toMatchObject(NOT_SIGNED_IN);
    });
  });
});

describe("while the session store does not respond", () => {
  test("a caller who was verified before is evaluated as such, marked as stale; others are refused", async () => {
    const verified = await host.ask(cookie, remember);
    breakSessions();
    await host.ask(cookie, async (identity) => {
      expect(await identity.evaluator()).toBe(verified);
      expect(identity.isStale).toBe(true);
      await expect(identity.administrator()).rejects.toMatchObject(UNAVAILABLE);
    });
    const authorization = `Bearer ${host.row("session")["token"]}`;
    await host.ask({ authorization }, async (identity) => {
      await expect(identity.evaluator()).rejects.toMatchObject(UNAVAILABLE);
      expect(identity.isStale).toBe(false);
    });
  });

  test("an API key that was verified before counts for evaluations, and no other caller takes its place", async () => {
    grantKey();
    const verified = await host.ask(KEY, remember);
    breakKeys();
    await host.ask(KEY, async (identity) => {
      expect(await identity.evaluator()).toBe(verified);
      expect(identity.isStale).toBe(true);
      await expect(identity.administrator()).rejects.toMatchObject(UNAVAILABLE);
    });
    await host.ask({ ...cookie, ...KEY }, async (identity) => {
      await expect(identity.evaluator()).rejects.toMatchObject(UNAVAILABLE);
    });
  });

  test("a key without permissions does not make the outage look like the last verified user", async () => {
    host.keys.set("secret", { valid: true, key: { id: "k1", referenceId: "x" } });
    expect(await host.ask({ ...cookie, ...KEY }, remember)).toMatchObject({ kind: "user" });
    breakKeys();
    await host.ask({ ...cookie, ...KEY }, async (identity) => {
      await expect(identity.evaluator()).rejects.toMatchObject(UNAVAILABLE);
      expect(identity.isStale).toBe(false);
    });
  });

  test("a refused credential is not replaced by the last verified caller", async () => {
    grantKey();
    await host.ask(KEY, remember);
    host.keys.clear();
    await host.ask(KEY, async (identity) => {
      await expect(identity.evaluator()).rejects.toMatchObject({ problem: "invalid-key" });
      expect(identity.isStale).toBe(false);
    });
  });

  test("a request waits 1 s when the caller was verified before, and 10 s otherwise", async () => {
    host.reads.mockReturnValue(new Promise(() => {}));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const timeOf = async (settling: Promise<unknown>) => {
      let isSettled = false;
      void settling.catch(() => undefined).finally(() => (isSettled = true));
      for (let seconds = 1; seconds <= 12; seconds++) {
        await vi.advanceTimersByTimeAsync(999);
        if (isSettled) return "too early";
        await vi.advanceTimersByTimeAsync(1);
        await new Promise(setImmediate);
        if (isSettled) return seconds;
      }
      return "never";
    };
    await host.ask(cookie, async (identity) => {
      expect(await timeOf(Promise.resolve(identity.evaluator()))).toBe(10);
    });
    host.reads.mockRestore();
    await host.ask(cookie, remember);
    vi.spyOn(host.context.internalAdapter, "findSession").mockReturnValue(new Promise(() => {}));
    await host.ask(cookie, async (identity) => {
      expect(await timeOf(Promise.resolve(identity.evaluator()))).toBe(1);
      expect(await timeOf(identity.administrator())).toBe(10);
    });
  });
});

describe("a limit of lookups", () => {
  /** Identifies the caller under a limit, and gives what the limit was told. */
  async function limited(headers: Record<string, string>, waitSeconds?: number) {
    const told: unknown[] = [];
    const guard = {
      secondsToWait: async (cacheKey: string | undefined) => {
        told.push(["asked", cacheKey]);
        return waitSeconds;
      },
      report: async (cacheKey: string | undefined, isValid: boolean) => void told.push([cacheKey, isValid]),
    };
    const outcome = await host.ask(headers, async (identity) => {
      identity.guardLookups(guard);
      return Promise.resolve(identity.evaluator()).catch((error: unknown) => error);
    });
    return { told, outcome };
  }

  test("is not asked for an anonymous visitor", async () => {
    expect(await limited({ accept: "*/*" })).toEqual({ told: [], outcome: ANONYMOUS });
  });

  test("is told of valid credentials, and of such that identify no caller", async () => {
    const key = host.cookie;
    expect((await limited(cookie)).told).toEqual([
      ["asked", key],
      [key, true],
    ]);
    endSession();
    expect((await limited(cookie)).told).toEqual([
      ["asked", key],
      [key, false],
    ]);
    const invalid = await limited(KEY);
    expect(invalid.told).toEqual([
      ["asked", "\nkey secret"],
      ["\nkey secret", false],
    ]);
    expect(invalid.outcome).toMatchObject({ problem: "invalid-key" });
  });

  test("is not told of credentials that were not looked up, or could not be", async () => {
    // A cookie without a valid signature is no session.
    const forged = { cookie: "better-auth.session_token=forged" };
    expect(await limited(forged)).toEqual({ told: [["asked", forged.cookie]], outcome: ANONYMOUS });
    breakSessions();
    const { told, outcome } = await limited(cookie);
    expect([told, outcome]).toEqual([[["asked", host.cookie]], expect.objectContaining(UNAVAILABLE)]);
  });

  test("sees credentials that only Better Auth can read as one", async () => {
    const { told } = await limited({ cookie: `${host.cookie}; better-auth.session_data=x` });
    expect(told).toEqual([
      ["asked", undefined],
      [undefined, true],
    ]);
  });

  test("refuses the request without a lookup, with the time to wait", async () => {
    const { told, outcome } = await limited(cookie, 7);
    expect(outcome).toMatchObject({
      problem: "too-many-lookups",
      retryAfterSeconds: 7,
      message: expect.stringContaining("Wait 7 s"),
    });
    expect(told).toEqual([["asked", host.cookie]]);
    expect(host.reads).not.toHaveBeenCalled();
  });
});
