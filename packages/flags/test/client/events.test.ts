/** Checks that events reach the server once, share requests, and never make the caller's code fail. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type EventServer, startEventServer } from "./event-server.ts";
import { bootstrapAnswer, createClient, gate } from "./kit.ts";

let server: EventServer;
beforeAll(async () => {
  server = await startEventServer();
});
afterAll(() => server.close());
beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  server.stored.length = 0;
  server.requests.length = 0;
  server.hold = undefined;
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const paths = () => server.requests.map(({ path }) => path);

describe("track", () => {
  test("sends a number, an object or no value, and returns the server's id", async () => {
    const { flags } = createClient(server.origin);
    const first = await flags.track("f", "clicked", 3);
    await flags.track("f", "clicked", { a: 1 });
    await flags.track("f", "clicked");
    await flags.trackEvent("f", "clicked", 0);
    expect(first).toEqual({ success: true, eventId: "event-1" });
    expect(server.stored).toEqual([
      { flagKey: "f", event: "clicked", properties: 3 },
      { flagKey: "f", event: "clicked", properties: { a: 1 } },
      { flagKey: "f", event: "clicked" },
      { flagKey: "f", event: "clicked", properties: 0 },
    ]);
  });

  test("counts once per idempotency key, and both calls return the same id", async () => {
    const { flags } = createClient(server.origin);
    const options = { idempotencyKey: "once" };
    const [first, second] = [
      await flags.track("f", "e", 1, options),
      await flags.track("f", "e", 1, options),
    ];
    expect(second).toEqual(first);
    expect(server.stored).toHaveLength(1);
  });

  test("sends events of one turn in one request, and events tracked in the meantime in the next", async () => {
    const { flags } = createClient(server.origin);
    const held = gate();
    server.hold = held.opened;
    const first = flags.track("f", "first");
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), 10_000);
    const rest = Array.from({ length: 150 }, (_, at) => flags.track("f", "rest", at));
    held.open();
    expect(await first).toEqual({ success: true, eventId: "event-1" });
    const results = await Promise.all(rest);
    expect(results.every(({ success }) => success)).toBe(true);
    expect(new Set(results.map((result) => result.success && result.eventId)).size).toBe(150);
    expect(server.stored).toHaveLength(151);
    expect(paths()).toEqual([
      "/feature-flags/events",
      "/feature-flags/events/batch",
      "/feature-flags/events/batch",
    ]);
  });

  test("reports which events of a shared request failed, and stores none twice", async () => {
    const { flags } = createClient(server.origin);
    const results = await Promise.all([
      flags.track("f", "good"),
      flags.track("f", "invalid"),
      flags.track("f", "better"),
    ]);
    expect(results.map(({ success }) => success)).toEqual([true, false, true]);
    expect(server.stored.map(({ event }) => event)).toEqual(["good", "better"]);
  });

  test("sends the context with the event", async () => {
    const { flags } = createClient(server.origin, {
      anonymousId: "visitor",
      context: { attributes: { a: 1 } },
    });
    await flags.track("f", "e");
    expect(server.stored[0]?.["context"]).toEqual({ anonymousId: "visitor", attributes: { a: 1 } });
  });

  test("resolves with success: false without a response, for one event and for several, and never rejects", async () => {
    const { flags, network } = createClient(server.origin);
    network.isDown = true;
    expect(await flags.track("f", "e")).toEqual({ success: false });
    expect(await Promise.all([flags.track("f", "e"), flags.track("f", "e")])).toEqual([
      { success: false },
      { success: false },
    ]);
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    network.isDown = false;
    expect(await flags.track("f", "e", cyclic as never)).toEqual({ success: false });
  });

  test("refuses further events while 1,000 wait for a response", async () => {
    const { flags } = createClient(server.origin);
    const held = gate();
    server.hold = held.opened;
    const tracked = Array.from({ length: 1_001 }, () => flags.track("f", "e"));
    expect(await tracked[1_000]).toEqual({ success: false });
    held.open();
    expect((await Promise.all(tracked)).filter(({ success }) => success)).toHaveLength(1_000);
  });
});

describe("trackBatch", () => {
  test("sends all items in one request and returns how many were accepted", async () => {
    const { flags } = createClient(server.origin);
    const timestamp = new Date("2026-11-15T10:00:00Z");
    const items = [
      { flag: "f", event: "b", data: 1, timestamp },
      { flag: "f", event: "b", data: { x: 1 }, idempotencyKey: "k" },
      { flag: "f", event: "invalid" },
    ];
    expect(await flags.trackBatch(items, "batch-1")).toEqual({ success: 2, failed: 1, batchId: "batch-1" });
    expect(server.requests).toEqual([
      {
        path: "/feature-flags/events/batch",
        body: {
          events: [
            { flagKey: "f", event: "b", properties: 1, timestamp: "2026-11-15T10:00:00.000Z" },
            { flagKey: "f", event: "b", properties: { x: 1 }, idempotencyKey: "k" },
            { flagKey: "f", event: "invalid" },
          ],
          idempotencyKey: "batch-1",
        },
      },
    ]);
  });

  test("counts once if it is repeated with its id", async () => {
    const { flags } = createClient(server.origin);
    const items = [{ flag: "f", event: "b" }];
    const first = await flags.trackBatch(items, "batch-2");
    expect(await flags.trackBatch(items, "batch-2")).toEqual(first);
    expect(server.stored).toHaveLength(1);
  });

  test("returns all items as failed without a response, and sends no request for no items", async () => {
    const { flags, network } = createClient(server.origin);
    expect(await flags.trackBatch([])).toMatchObject({ success: 0, failed: 0 });
    expect(network.paths).toEqual([]);
    network.isDown = true;
    const items = [
      { flag: "f", event: "b" },
      { flag: "f", event: "b", timestamp: new Date(Number.NaN) },
    ];
    expect(await flags.trackBatch(items)).toEqual({ success: 0, failed: 2 });
  });
});

test("a waitUntil that throws, as an unbound one does, affects neither reads nor events", async () => {
  const waitUntil = (): never => {
    throw new TypeError("Illegal invocation");
  };
  const { flags } = createClient(server.origin, {
    waitUntil,
    bootstrap: await bootstrapAnswer({ a: 1 }).json(),
  });
  expect(await flags.getValue("a")).toBe(1);
  expect(await flags.track("a", "one")).toMatchObject({ success: true });
  expect(await flags.track("a", "two")).toMatchObject({ success: true });
  expect(await flags.trackBatch([{ flag: "a", event: "three" }])).toMatchObject({ success: 1 });
  expect(console.warn).toHaveBeenCalledWith(expect.stringContaining("Illegal invocation"));
});

describe("exposures", () => {
  const EXPOSURES = "/feature-flags/evaluate-batch";

  function reader(options = {}) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const made = createClient("http://app.test", options);
    made.network.intercept = () => bootstrapAnswer({ a: 1, b: true, c: "never read" });
    const exposed = () => made.network.bodies.filter((_, at) => made.network.paths[at] === EXPOSURES);
    return { ...made, exposed };
  }

  test("are reported once for each flag that was read, not for all that were fetched", async () => {
    const { flags, exposed } = reader();
    await flags.getValue("a");
    await flags.isEnabled("b");
    await flags.getVariant("a");
    await flags.getValue("unknown");
    await flags.bootstrap();
    expect(exposed()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exposed()).toEqual([
      { flagKeys: ["a", "b"], track: true, select: "value", contextInResponse: false },
    ]);
    await flags.getValue("a");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(exposed()).toHaveLength(1);
  });

  const TOKENS = "/feature-flags/exposures";

  /** A reader of experiments: `a` with a variant, `b` with a rollout. */
  function subject(answerTokens: () => Response | undefined = () => undefined) {
    const made = reader();
    const state = { arm: "one", tokens: true };
    made.network.intercept = (path) => {
      if (path === TOKENS) return answerTokens() ?? Response.json({ success: 1, failed: 0 });
      return Response.json({
        flags: {
          a: { value: 1, variant: state.arm, reason: "percentage_rollout" },
          b: { value: true, reason: "percentage_rollout" },
          c: { value: "never read" },
          plain: { value: "no experiment" },
        },
        evaluatedAt: new Date().toISOString(),
        context: {},
        ...(state.tokens && { exposures: { a: `token-${state.arm}`, b: "token-b", c: "token-c" } }),
      });
    };
    const reported = () =>
      made.network.bodies.filter((_, at) => made.network.paths[at] === TOKENS) as { exposures: string[] }[];
    return { ...made, state, reported };
  }

  test("of flags with a token are reported by it, once for each arm", async () => {
    const { flags, exposed, reported, state } = subject();
    await flags.getVariant("a");
    await flags.getValue("a");
    await flags.isEnabled("b");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported()).toEqual([{ exposures: ["token-one", "token-b"] }]);
    state.arm = "two";
    await flags.bootstrap();
    await flags.getVariant("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported()[1]).toEqual({ exposures: ["token-two"] });
    expect(exposed()).toEqual([]);
  });

  test("are not reported by a second evaluation, which could give another arm", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { flags, exposed, reported, state } = subject();
    state.tokens = false;
    await flags.getVariant("a");
    await flags.isEnabled("b");
    await vi.advanceTimersByTimeAsync(5_000);
    expect([exposed(), reported()]).toEqual([[], []]);
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining("exposures: true"));
  });

  test("that the server could not accept are reported again", async () => {
    const failures = [() => Promise.reject(new TypeError("fetch failed")), () => 503, () => 429];
    const { flags, reported } = subject(() => {
      const failure = failures.shift()?.();
      return typeof failure === "number"
        ? Response.json({}, { status: failure })
        : (failure as Response | undefined);
    });
    await flags.getVariant("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(7_000);
    expect(reported()).toEqual(Array(4).fill({ exposures: ["token-one"] }));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reported()).toHaveLength(4);
  });

  test("of flags without a token are reported although earlier tokens are not accepted yet", async () => {
    let isDown = true;
    const { flags, exposed, reported } = subject(() =>
      isDown ? Response.json({}, { status: 503 }) : undefined,
    );
    await flags.getVariant("a");
    await vi.advanceTimersByTimeAsync(1_500);
    expect(reported()).toHaveLength(1);
    await flags.getValue("plain");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exposed()).toMatchObject([{ flagKeys: ["plain"], track: true }]);
    isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    const before = reported().length;
    await flags.isEnabled("b");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported().slice(before)).toEqual([{ exposures: ["token-b"] }]);
  });

  test("that wait are reported when the user changes", async () => {
    const { client, flags, reported } = subject();
    await flags.getVariant("a");
    await client.signIn.email({ email: "ann@example.com", password: "p" });
    await vi.advanceTimersByTimeAsync(0);
    expect(reported()).toEqual([{ exposures: ["token-one"] }]);
  });

  test("are not reported for local overrides, and never if turned off", async () => {
    const { flags, exposed } = reader();
    flags.setOverride("a", 2);
    await flags.getValue("a");
    const off = reader({ exposures: false });
    await off.flags.getValue("a");
    await vi.advanceTimersByTimeAsync(5_000);
    expect([exposed(), off.exposed()]).toEqual([[], []]);
  });
});
