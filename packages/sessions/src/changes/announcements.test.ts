import type { BusListener } from "@halyard/base";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { connectFeed } from "./announcements.ts";
import { ChangeFeed } from "./change-feed.ts";

test("a change that the bus does not accept for 10 s is reported, and others then learn that they missed something", async () => {
  vi.useFakeTimers();
  try {
    const reported: unknown[] = [];
    const refusal = new Error("The bus is down.");
    const feed = new ChangeFeed();
    let tries = 0;
    const published: string[] = [];
    const publish = async (message: string) => {
      tries++;
      if (reported.length === 0) throw refusal;
      published.push(message);
    };
    const stop = connectFeed(feed, { publish, subscribe: () => () => undefined }, (error) =>
      reported.push(error),
    );
    feed.apply({ kind: "user", id: "ada" });
    await vi.advanceTimersByTimeAsync(9_000);
    expect(reported).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reported).toEqual([refusal]);
    expect(tries).toBeGreaterThan(30);
    expect(published.map((message) => JSON.parse(message).changes)).toEqual([[{ kind: "unknown" }]]);
    stop();
  } finally {
    vi.useRealTimers();
  }
});

describe("announcements", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A bus that returns each message, unless the test says otherwise. */
  function setUp() {
    const bus = { isDown: false, published: 0, listener: undefined as BusListener | undefined };
    const feed = new ChangeFeed();
    const stop = connectFeed(
      feed,
      {
        async publish(message) {
          bus.published += 1;
          if (!bus.isDown) bus.listener?.received(message);
        },
        subscribe(listener) {
          bus.listener = listener;
          return () => undefined;
        },
      },
      () => undefined,
    );
    /** After the time in which an answer may come. */
    const ask = async () => {
      const asked = feed.unbrokenSince();
      await vi.advanceTimersByTimeAsync(250);
      return asked;
    };
    return { bus, feed, stop, ask };
  }

  test("are unbroken since the first message that the bus delivered", async () => {
    const { ask } = setUp();
    const startedAtMs = performance.now();
    expect(await ask()).toBe(startedAtMs);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await ask()).toBe(startedAtMs);
  });

  test("are not asked for while messages come", async () => {
    const { bus, ask } = setUp();
    bus.listener?.received("a message of another process");
    await vi.advanceTimersByTimeAsync(1000);
    expect(await ask()).toBeDefined();
    expect(bus.published).toBe(0);
  });

  test("are broken when the bus does not deliver, until it does again", async () => {
    const { bus, ask } = setUp();
    const first = await ask();
    await vi.advanceTimersByTimeAsync(2000);
    bus.isDown = true;
    expect(await ask()).toBeUndefined();
    bus.isDown = false;
    expect(await ask()).toBeGreaterThan(first ?? 0);
  });

  test("are broken by a gap", async () => {
    const { bus, ask } = setUp();
    const first = await ask();
    bus.listener?.missed();
    expect(await ask()).toBeGreaterThan(first ?? 0);
  });

  test("are broken without a bus", async () => {
    const { feed, stop } = setUp();
    stop();
    expect(await feed.unbrokenSince()).toBeUndefined();
  });
});
