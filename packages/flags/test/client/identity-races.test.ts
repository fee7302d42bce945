/** Checks that a user who signs in or out while requests are in flight never gets values of the previous user. */
import type { FlagsBootstrap } from "@halyard/flags/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BOOTSTRAP, bootstrapAnswer, createClient, gate } from "./kit.ts";

const ORIGIN = "http://app.test";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A client whose server returns the flags of the signed-in user while it is up. */
function withServer(options: Parameters<typeof createClient>[1] = {}) {
  const made = createClient(ORIGIN, { exposures: false, ...options });
  const server = {
    userId: undefined as string | undefined,
    organizationId: undefined as string | undefined,
    hold: undefined as Promise<void> | undefined,
  };
  made.network.intercept = async (path) => {
    if (path === "/get-session") {
      const { userId, organizationId } = server;
      return Response.json(
        userId === undefined
          ? null
          : { user: { id: userId }, session: { activeOrganizationId: organizationId ?? null } },
      );
    }
    if (path !== BOOTSTRAP) return Response.json({ success: true });
    const { userId, organizationId } = server;
    await server.hold;
    const flags = { whose: { value: userId ?? "nobody" }, where: { value: organizationId ?? "nowhere" } };
    return Response.json({
      flags,
      evaluatedAt: new Date().toISOString(),
      context: { userId, organizationId },
    });
  };
  const post = (path: string) => made.client.$fetch(path, { method: "POST", body: {} });
  return { ...made, server, post };
}

const rendered = (
  userId: string | undefined,
  evaluatedAt: string,
  organizationId?: string,
): FlagsBootstrap => ({
  flags: { whose: { value: userId ?? "nobody" }, where: { value: organizationId ?? "nowhere" } },
  evaluatedAt,
  context: { ...(userId && { userId }), ...(organizationId && { organizationId }) },
});

describe("a response that is in flight", () => {
  test("is discarded after its user has signed out and in again", async () => {
    const { flags, server, post, network } = withServer();
    const values = flags.values();
    const seen = new Set<unknown>();
    values.subscribe(() => seen.add(values.read("whose")?.value));
    await vi.waitFor(() => expect(values.read("whose")?.value).toBe("nobody"), 10_000);
    const held = gate();
    [server.userId, server.hold] = ["ada", held.opened];
    await post("/sign-in/email");
    await vi.waitFor(() => expect(network.count(BOOTSTRAP)).toBe(2), 10_000);
    [server.userId, server.hold] = [undefined, undefined];
    await post("/sign-out");
    await vi.waitFor(() => expect(network.count(BOOTSTRAP)).toBe(3), 10_000);
    held.open();
    expect(await flags.getValue("whose")).toBe("nobody");
    await new Promise((resolve) => setImmediate(resolve));
    expect([...seen]).toEqual(["nobody"]);
  });
});

describe("requests that change the signed-in user", () => {
  test.for([
    "/multi-session/set-active",
    "/multi-session/revoke",
    "/delete-user",
    "/revoke-sessions",
    "/verify-email",
    "/magic-link/verify",
    "/two-factor/verify-totp",
    "/passkey/verify-authentication",
    "/phone-number/verify",
    "/one-tap/callback",
    "/organization/create",
    "/organization/leave",
    "/organization/accept-invitation",
    "/admin/impersonate-user",
  ])("discard the previous user's values, even without a network: %s", async (path) => {
    const { flags, server, post, network } = withServer();
    server.userId = "ada";
    expect(await flags.getValue("whose")).toBe("ada");
    await post(path);
    expect(flags.values().read("whose")).toBeUndefined();
    network.isDown = true;
    expect(await flags.getValue("whose", "default")).toBe("default");
  });

  test.for(["/update-user", "/organization/list", "/verify-password", "/two-factor/enable"])(
    "do not include similar paths: %s",
    async (path) => {
      const { flags, server, post } = withServer();
      server.userId = "ada";
      await flags.getValue("whose");
      await post(path);
      expect(flags.values().read("whose")?.value).toBe("ada");
    },
  );
});

describe("the session", () => {
  test("causes no second fetch if it is read before the new values have arrived", async () => {
    const { client, flags, server, post, network } = withServer();
    flags.values().subscribe(() => undefined);
    await flags.getValue("whose");
    const held = gate();
    Object.assign(server, { userId: "ada", organizationId: "acme", hold: held.opened });
    await post("/sign-in/email");
    await client.getSession();
    held.open();
    expect(await flags.getValue("where")).toBe("acme");
    await client.getSession();
    await flags.getValue("where");
    expect(network.count(BOOTSTRAP)).toBe(2);
  });

  test("of another organization than the page was rendered for discards the values when it is first read", async () => {
    const bootstrap = rendered("ada", "2026-01-01T00:00:00.000Z", "acme");
    const { client, flags, server } = withServer({ bootstrap });
    Object.assign(server, { userId: "ada", organizationId: "globex" });
    expect(await flags.getValue("where")).toBe("acme");
    await client.getSession();
    expect(flags.values().read("where")).toBeUndefined();
    expect(await flags.getValue("where")).toBe("globex");
  });

  test("of a user who evaluates as another user does not discard the values", async () => {
    const { client, flags, server, network } = withServer({ context: { userId: "bob" } });
    server.userId = "bob";
    await flags.getValue("whose");
    server.userId = "support";
    await client.getSession();
    expect(flags.values().read("whose")?.value).toBe("bob");
    expect(network.count(BOOTSTRAP)).toBe(1);
  });
});

describe("a page that was rendered for the previous user", () => {
  test("is ignored if it is shown again after that user signed out", async () => {
    const { flags, server, post, network } = withServer();
    const before = new Date(Date.now() - 60_000).toISOString();
    server.userId = "ada";
    await flags.getValue("whose");
    server.userId = undefined;
    await post("/sign-out");
    flags.values().hydrate(rendered("ada", before));
    expect(flags.values().read("whose")).toBeUndefined();
    expect(await flags.getValue("whose")).toBe("nobody");
    expect(network.count(BOOTSTRAP)).toBe(2);
  });

  test("is not used for reads after the signed-in user may have changed", async () => {
    const { flags, server, post } = withServer({
      bootstrap: rendered(undefined, "2026-01-01T00:00:00.000Z"),
    });
    await post("/sign-in/email");
    server.userId = "ada";
    flags.values().hydrate(rendered(undefined, "2026-01-01T00:00:01.000Z"));
    expect(await flags.getValue("whose")).toBe("ada");
  });
});

describe("events", () => {
  test("that wait when another user signs in are refused and do not count for that user", async () => {
    const { flags, server, post, network } = withServer();
    server.userId = "ada";
    await flags.getValue("whose");
    const held = gate();
    const answer = network.intercept;
    network.intercept = (path, init) =>
      path === "/feature-flags/events"
        ? held.opened.then(() => Response.json({ success: true, eventId: "1" }))
        : answer?.(path, init);
    const first = flags.track("whose", "first");
    await vi.waitFor(() => expect(network.count("/feature-flags/events")).toBe(1), 10_000);
    const second = flags.track("whose", "second");
    await post("/sign-out");
    expect(await second).toEqual({ success: false });
    held.open();
    expect(await first).toEqual({ success: true, eventId: "1" });
    expect(network.count("/feature-flags/events")).toBe(1);
  });

  test("of an anonymous visitor who signs in are still sent", async () => {
    const { flags, post, network } = withServer();
    await flags.getValue("whose");
    const held = gate();
    const answer = network.intercept;
    network.intercept = (path, init) =>
      path === "/feature-flags/events"
        ? held.opened.then(() => Response.json({ success: true, eventId: "1" }))
        : answer?.(path, init);
    const first = flags.track("whose", "first");
    await vi.waitFor(() => expect(network.count("/feature-flags/events")).toBe(1), 10_000);
    const second = flags.track("whose", "second");
    await post("/sign-in/email");
    held.open();
    expect([await first, await second]).toMatchObject([{ success: true }, { success: true }]);
  });

  test("that report exposures are sent again for another context, in the environment of the read", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const made = createClient(ORIGIN, { context: { userId: "ada" }, environment: "beta" });
    made.network.intercept = () => bootstrapAnswer({ a: 1 });
    const exposed = () =>
      made.network.bodies.filter((_, at) => made.network.paths[at] === "/feature-flags/evaluate-batch");
    await made.flags.getValue("a");
    await vi.advanceTimersByTimeAsync(1_000);
    made.flags.setContext({ userId: "bob" });
    await made.flags.getValue("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exposed()).toMatchObject([
      { flagKeys: ["a"], environment: "beta", context: { userId: "ada" } },
      { flagKeys: ["a"], environment: "beta", context: { userId: "bob" } },
    ]);
  });
});
