import { APIError } from "better-auth/api";
import { describe, expect, test } from "vitest";
import { remember, startHost } from "../../test/endpoint-host.ts";

const DAY = 86_400_000;

type Host = Awaited<ReturnType<typeof startHost>>;

/** What is remembered of the session after a request with this cookie. */
async function validityOf(host: Host, cookie = host.cookie) {
  return host.ask({ cookie }, async (identity) => {
    await remember(identity);
    const principal = host.identities.principals.recallStale(cookie);
    return principal && { changedAtMs: principal.changedAtMs, validUntilMs: principal.validUntilMs };
  });
}

const evaluator = (host: Host, headers: Record<string, string> = { cookie: host.cookie }) =>
  host.ask(headers, async (identity) => identity.evaluator());

describe("the user of a session", () => {
  test("has the values of the session's row and the user's row", async () => {
    const host = await startHost();
    const { id, token } = host.row("session");
    const plain = { id: host.userId, email: "ann@example.com", sessionId: id, sessionToken: token };
    expect(await evaluator(host)).toEqual({ kind: "user", user: { ...plain, role: "user" } });
    host.row("user")["role"] = null;
    Object.assign(host.row("session"), { activeOrganizationId: "", impersonatedBy: "" });
    expect(await evaluator(host)).toEqual({ kind: "user", user: plain });
    host.row("user")["role"] = "admin,support";
    Object.assign(host.row("session"), { activeOrganizationId: "acme", impersonatedBy: "root" });
    expect(await evaluator(host)).toEqual({
      kind: "user",
      user: { ...plain, role: "admin,support", activeOrganizationId: "acme", impersonatedBy: "root" },
    });
  });

  test("is found by a bearer token as well, and not at all without credentials", async () => {
    const host = await startHost();
    const authorization = `Bearer ${host.row("session")["token"]}`;
    expect(await evaluator(host, { authorization })).toMatchObject({ user: { id: host.userId } });
    const reads = host.reads.mock.calls.length;
    expect(await evaluator(host, { accept: "*/*" })).toEqual({ kind: "anonymous" });
    expect(host.reads).toHaveBeenCalledTimes(reads);
  });

  test("is taken from what Better Auth has read for this request, except for an operation that needs a permission", async () => {
    const host = await startHost();
    const loaded = { user: { id: "bob", email: "bob@example.com" }, session: {} };
    await host.ask({ cookie: host.cookie }, async (identity, request) => {
      request.context.session = loaded as unknown as typeof request.context.session;
      expect(await remember(identity)).toStrictEqual({ kind: "user", user: loaded.user });
      expect(host.reads).not.toHaveBeenCalled();
      expect(host.identities.principals.size).toBe(0);
      expect(await identity.administrator()).toMatchObject({ user: { id: host.userId } });
    });
  });

  test("is taken from the cookie's copy of the session, except for an operation that needs a permission", async () => {
    const host = await startHost({ cookieCache: { enabled: true } });
    host.tables["session"]?.splice(0);
    await host.ask({ cookie: host.cookie }, async (identity) => {
      expect(await identity.evaluator()).toMatchObject({ user: { id: host.userId } });
      expect(host.reads).not.toHaveBeenCalled();
      await expect(identity.administrator()).rejects.toMatchObject({ problem: "not-signed-in" });
    });
  });

  test("is an anonymous visitor when Better Auth refuses the session, and the browser's cookie is then deleted", async () => {
    const host = await startHost();
    host.reads.mockRejectedValueOnce(new APIError("FORBIDDEN"));
    expect(await evaluator(host)).toEqual({ kind: "anonymous" });
    host.tables["session"]?.splice(0);
    await host.ask({ cookie: host.cookie }, async (identity, request) => {
      expect(await identity.evaluator()).toEqual({ kind: "anonymous" });
      expect(request.responseHeaders.getSetCookie().join()).toContain("session_token=;");
    });
  });

  test("is never an anonymous visitor because the session store fails", async () => {
    const host = await startHost();
    for (const error of [
      new Error("down"),
      new APIError("INTERNAL_SERVER_ERROR"),
      new APIError("BAD_GATEWAY"),
    ]) {
      host.reads.mockRejectedValueOnce(error);
      await expect(evaluator(host)).rejects.toMatchObject({
        problem: "unavailable",
        retryAfterSeconds: 5,
        message: expect.stringContaining("session could not be read"),
        cause: expect.any(Error),
      });
    }
  });
});

describe("a verified session counts until Better Auth must see it again", () => {
  test("which is the time of its renewal, by default a day after the last one", async () => {
    const host = await startHost();
    const { validUntilMs } = (await validityOf(host)) ?? {};
    expect(validUntilMs).toBe(Number(host.row("session")["expiresAt"]) - 6 * DAY);
  });

  test.each([
    ["the host renews none", { disableSessionRefresh: true }, ""],
    ["the host renews them on request", { deferSessionRefresh: true }, ""],
    ["it ends with the browser", {}, "; better-auth.dont_remember=true.x"],
  ])("which is the time it expires when %s", async (_what, options, more) => {
    const host = await startHost(options);
    const cookie = host.cookie + more;
    const found = await host.ask({ cookie }, async (identity) => {
      await remember(identity);
      return identity.lastVerified;
    });
    expect(found).toBeDefined();
    const key = host.cookie + (more && ";better-auth.dont_remember");
    const { validUntilMs } = host.identities.principals.recallStale(key) ?? {};
    expect(validUntilMs).toBe(Number(host.row("session")["expiresAt"]));
  });

  test("which is not after it expires, whatever the options say", async () => {
    const host = await startHost({ expiresIn: 60, updateAge: 3600 });
    Object.assign(host.row("session"), { expiresAt: new Date(Date.now() + DAY) });
    const { validUntilMs } = (await validityOf(host)) ?? {};
    expect(validUntilMs).toBe(Number(host.row("session")["expiresAt"]));
  });

  test("which is the next request after one that renewed it", async () => {
    const host = await startHost();
    host.row("session")["expiresAt"] = new Date(Date.now() + 5 * DAY);
    expect(await validityOf(host)).toBeUndefined();
    expect(await validityOf(host)).toBeDefined();
  });
});

describe("a session is verified for every request", () => {
  test.each([
    ["its time of expiry is missing", { expiresAt: new Date(Number.NaN) }],
    ["its token is more than one line", { token: "a\nb" }],
    ["its token is missing", { token: undefined }],
  ])("when %s", async (_what, values) => {
    const host = await startHost();
    const { session, user } = { session: host.row("session"), user: host.row("user") };
    host.reads.mockResolvedValueOnce({ session: { ...session, ...values }, user } as never);
    expect(await validityOf(host)).toBeUndefined();
  });
});

test("a session is followed in the database from the last change of its row or its user's row", async () => {
  const host = await startHost();
  for (const [session, user] of [
    [1000, 2000],
    [2000, 1000],
  ] as const) {
    host.row("session")["updatedAt"] = new Date(session);
    host.row("user")["updatedAt"] = new Date(user);
    expect((await validityOf(host))?.changedAtMs).toBe(2000);
  }
});

test.each([
  ["session", { updatedAt: undefined }],
  ["user", { updatedAt: "yesterday" }],
] as const)(
  "a %s without a time of its last change is not followed in the database",
  async (model, values) => {
    const host = await startHost();
    const stored = { session: host.row("session"), user: host.row("user") };
    stored[model] = { ...stored[model], ...values };
    host.reads.mockResolvedValueOnce(stored as never);
    expect(await validityOf(host)).toEqual({ changedAtMs: undefined, validUntilMs: expect.any(Number) });
  },
);
