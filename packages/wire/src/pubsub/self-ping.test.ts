import { describe, expect, test } from "vitest";
import { FakeClock } from "../testing/fake-clock.ts";
import { SelfPing } from "./self-ping.ts";

function start(answersAfterMs: () => number | undefined) {
  const clock = new FakeClock();
  const unheard: number[] = [];
  let pings = 0;
  const ping: SelfPing = new SelfPing(
    clock,
    (word) => {
      pings++;
      const delayMs = answersAfterMs();
      if (delayMs !== undefined) clock.setTimeout(() => ping.received(word), delayMs);
    },
    () => unheard.push(clock.now()),
  );
  ping.start();
  return { clock, ping, unheard, pings: () => pings };
}

describe("a self-ping", () => {
  test("repeats while its echo returns", async () => {
    const { clock, ping, unheard, pings } = start(() => 100);
    await clock.advance(10_000);
    expect(unheard).toEqual([]);
    expect(pings()).toBe(21);
    ping.stop();
    await clock.advance(10_000);
    expect([pings(), clock.pendingTimers]).toEqual([21, 0]);
  });

  test("without an echo is reported once, a second later, and then stops", async () => {
    let answers = 3;
    const { clock, unheard, pings } = start(() => (answers-- > 0 ? 100 : undefined));
    await clock.advance(60_000);
    expect(unheard).toEqual([3 * 500 + 1_000]);
    expect(pings()).toBe(4);
  });

  test("ignores an echo of an earlier ping", async () => {
    const { clock, ping, unheard } = start(() => undefined);
    await clock.advance(500);
    ping.received("0");
    await clock.advance(600);
    expect(unheard).toHaveLength(1);
  });
});
