import { expect, test, vi } from "vitest";
import { connectFeed } from "./announcements.ts";
import { ChangeFeed } from "./change-feed.ts";

test("a change that the bus does not accept for 10 s is reported", async () => {
  vi.useFakeTimers();
  try {
    const reported: unknown[] = [];
    const refusal = new Error("The bus is down.");
    const feed = new ChangeFeed();
    let tries = 0;
    const publish = async () => {
      tries++;
      throw refusal;
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
    stop();
  } finally {
    vi.useRealTimers();
  }
});
