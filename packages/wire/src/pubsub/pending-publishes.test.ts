import { describe, expect, test } from "vitest";
import { FakeClock } from "../testing/fake-clock.ts";
import { PendingPublishes } from "./pending-publishes.ts";

describe("unconfirmed publishes", () => {
  test("time out individually", async () => {
    const clock = new FakeClock();
    const unanswered = new PendingPublishes(clock, 1_000, 1_000_000);
    const outcomes: string[] = [];
    const watch = (name: string, answer: Promise<unknown>) =>
      unanswered.wait(answer, 1).then(
        () => outcomes.push(`${name} done`),
        () => outcomes.push(`${name} failed`),
      );
    void watch("a", new Promise(() => undefined));
    await clock.advance(600);
    void watch("b", new Promise(() => undefined));
    void watch("c", Promise.resolve());
    void watch("d", Promise.reject(new Error("no")));
    await clock.advance(500);
    expect(outcomes).toEqual(["c done", "d failed", "a failed"]);
    await clock.advance(600);
    expect(outcomes.at(-1)).toBe("b failed");
    expect(clock.pendingTimers).toBe(0);
  });

  test("are limited in bytes, and free their bytes when they are confirmed or time out", async () => {
    const clock = new FakeClock();
    const unanswered = new PendingPublishes(clock, 1_000, 100);
    let answer: (value?: unknown) => void = () => undefined;
    const first = unanswered.wait(
      new Promise((resolve) => {
        answer = resolve;
      }),
      60,
    );
    const second = unanswered.wait(new Promise(() => undefined), 60).catch(() => "given up");
    expect(unanswered.isFull).toBe(true);
    answer();
    await first;
    expect(unanswered.isFull).toBe(false);
    const third = unanswered.wait(new Promise(() => undefined), 100).catch(() => "given up");
    expect(unanswered.isFull).toBe(true);
    await clock.advance(2_000);
    expect([await second, await third, unanswered.isFull]).toEqual(["given up", "given up", false]);
  });
});
