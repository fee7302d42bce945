/** Checks that reads and events settle on pages without cookies, with invalid responses and with silent servers. */
import { type FlagsBootstrap, featureFlagsClient } from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BOOTSTRAP, bootstrapAnswer, createClient } from "./kit.ts";

const ORIGIN = "http://app.test";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A page with the given cookies. */
function stubPage(cookies: { get(): string; set(line: string): void }): void {
  const document = { addEventListener: () => undefined };
  Object.defineProperty(document, "cookie", cookies);
  vi.stubGlobal("document", document);
  vi.stubGlobal("location", { protocol: "https:" });
  vi.stubGlobal("addEventListener", () => undefined);
}

function reader(options: Parameters<typeof createClient>[1] = {}) {
  const made = createClient(ORIGIN, { exposures: false, ...options });
  made.network.intercept = (path) =>
    path === BOOTSTRAP ? bootstrapAnswer({ a: 1 }) : Response.json({ success: true, eventId: "1" });
  const ids = () =>
    made.network.bodies.map((body) => (body as { context?: { anonymousId?: string } }).context?.anonymousId);
  return { ...made, ids };
}

describe("the anonymous visitor's id", () => {
  const throwing = () => {
    throw new DOMException("The document is sandboxed.", "SecurityError");
  };

  test("stays the same on a page whose cookies throw, without an error", async () => {
    stubPage({ get: throwing, set: throwing });
    const { flags, ids } = reader();
    expect(await flags.getValue("a")).toBe(1);
    expect(await flags.track("a", "e")).toMatchObject({ success: true });
    expect(ids()[0]).toMatch(/^[\da-f-]{36}$/);
    expect(new Set(ids()).size).toBe(1);
  });

  test("stays the same on a page that does not store cookies", async () => {
    stubPage({ get: () => "", set: () => undefined });
    const { flags, ids } = reader();
    await flags.bootstrap();
    await flags.bootstrap();
    expect(new Set(ids()).size).toBe(1);
  });

  test.for(["user.1", "a; domain=example", "x".repeat(129)])(
    "is the id that the page was rendered for, even if it is not a valid cookie value: %s",
    async (anonymousId) => {
      const lines: string[] = [];
      stubPage({ get: () => lines.join("; "), set: (line) => lines.push(line.split(";", 1)[0] ?? "") });
      const bootstrap: FlagsBootstrap = {
        flags: {},
        evaluatedAt: "2026-01-01T00:00:00.000Z",
        context: { anonymousId },
      };
      const { flags, ids } = reader({ bootstrap });
      await flags.bootstrap();
      expect([ids(), lines]).toEqual([[anonymousId], []]);
    },
  );
});

describe("an invalid bootstrap", () => {
  test.for([
    '{"flags":null}',
    '{"flags":{"a":null}}',
    '{"flags":{"a":"text"}}',
    "null",
    '"text"',
    "[]",
    "{}",
  ])("makes reads return the default if it comes from the server: %s", async (answer) => {
    const { flags, network } = reader();
    network.intercept = () => new Response(answer, { headers: { "content-type": "application/json" } });
    expect(await flags.getValue("a", "default")).toBe("default");
  });

  test("is ignored if it comes from a page that was rendered without flags", async () => {
    // `JSON.parse` returns null for a page without a bootstrap, and its type permits that.
    const bootstrap: FlagsBootstrap = JSON.parse("null");
    const { flags } = reader({ bootstrap });
    flags.values().hydrate(bootstrap);
    const reading = flags.values().rendered(bootstrap);
    expect([reading.status(), reading.all()]).toEqual(["loading", {}]);
    expect(await flags.getValue("a")).toBe(1);
  });
});

describe("a server that recovers", () => {
  test("is asked again automatically, even if a read failed in the meantime", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { flags, network } = reader();
    network.isDown = true;
    const values = flags.values();
    values.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(500);
    await flags.bootstrap();
    network.isDown = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(values.status()).toBe("ready");
  });
});

test("an event without a response times out, and later events are sent", async () => {
  const timeouts: number[] = [];
  const controllers: AbortController[] = [];
  vi.spyOn(AbortSignal, "timeout").mockImplementation((delayMs) => {
    const controller = new AbortController();
    timeouts.push(delayMs);
    controllers.push(controller);
    return controller.signal;
  });
  const { flags, network } = reader();
  network.intercept = (_path, init) =>
    new Promise((_resolve, reject) => {
      init.signal?.addEventListener("abort", () => reject(new DOMException("Timed out", "TimeoutError")));
    });
  const silent = flags.track("a", "silent");
  await vi.waitFor(() => expect(network.paths).toHaveLength(1), 10_000);
  const next = flags.track("a", "next");
  network.intercept = () => Response.json({ success: true, eventId: "2" });
  controllers[0]?.abort();
  expect(await silent).toEqual({ success: false });
  expect(await next).toEqual({ success: true, eventId: "2" });
  expect(timeouts[0]).toBe(30_000);
});

test.for([
  ["uses a beacon if cookies authenticate the request", {}, 1],
  [
    "uses a request if a header authenticates it, because beacons have no headers",
    { auth: { type: "Bearer", token: "t" } },
    0,
  ],
  ["uses a request if a hook may add a header", { onRequest: () => undefined }, 0],
  ["uses a request if a fetch plugin may add a header", { plugins: [] }, 0],
] as const)("a page that unloads %s", async ([, fetchOptions, beacons]) => {
  const listeners: (() => void)[] = [];
  stubPage({ get: () => "", set: () => undefined });
  vi.stubGlobal("addEventListener", (_name: string, listener: () => void) => listeners.push(listener));
  const sendBeacon = vi.fn(() => true);
  vi.stubGlobal("navigator", { sendBeacon });
  const fetched: RequestInit[] = [];
  vi.stubGlobal("fetch", (_url: string, init: RequestInit) => {
    fetched.push(init);
    return new Promise(() => undefined);
  });
  const client = createAuthClient({
    baseURL: ORIGIN,
    plugins: [featureFlagsClient()],
    fetchOptions: fetchOptions as object,
  });
  void client.featureFlags.track("a", "in flight");
  await vi.waitFor(() => expect(fetched).toHaveLength(1), 10_000);
  for (const listener of listeners) listener();
  await vi.waitFor(() => expect(fetched).toHaveLength(2 - beacons), 10_000);
  expect(sendBeacon).toHaveBeenCalledTimes(beacons);
  if (beacons === 0) expect(fetched[1]?.keepalive).toBe(true);
});
