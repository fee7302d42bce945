import { describe, expect, test } from "vitest";
import { FakeClock } from "../testing/fake-clock.ts";
import { BrokerPubSub } from "./broker.ts";
import type { Transport, TransportEvents } from "./transport.ts";

/** A broker that takes everything, and remembers it. */
class Recorder implements Transport {
  readonly isConnected = true;
  readonly maxMessageBytes: number;
  readonly published: string[] = [];

  constructor(maxMessageBytes: number) {
    this.maxMessageBytes = maxMessageBytes;
  }

  async subscribe(): Promise<void> {}
  async unsubscribe(): Promise<void> {}
  async publish(topic: string, message: string): Promise<void> {
    this.published.push(`${topic}: ${message.replace(/^1 \S+ /, "")}`);
  }
  async close(): Promise<void> {}
}

function start({ maxMessageBytes = 1_000 } = {}) {
  const clock = new FakeClock();
  const recorder = new Recorder(maxMessageBytes);
  let events: TransportEvents | undefined;
  const pubsub = new BrokerPubSub(
    "test",
    (given) => {
      events = given;
      return recorder;
    },
    {},
    clock,
  );
  return { clock, pubsub, recorder, resumed: (lostAt: number) => events?.resumed(lostAt) };
}

describe("a pub/sub over a broker", () => {
  test("tells again, after an outage of any length, what was accepted in the seconds before it", async () => {
    const { clock, pubsub, recorder, resumed } = start();
    await pubsub.publish("long ago", "a", {});
    await clock.advance(6_000);
    await pubsub.publish("just before", "b", {});
    const lostAt = clock.now();
    await clock.advance(60_000);
    resumed(lostAt);
    expect(recorder.published.slice(2)).toEqual(["just before: 2 2 - 60000"]);
  });

  test("refuses what is larger than the broker takes, and leaves no hole behind it", async () => {
    const { pubsub, recorder } = start({ maxMessageBytes: 100 });
    await pubsub.publish("room", "a", {});
    expect(await pubsub.publish("room", "x".repeat(100), {})).toEqual({
      ok: false,
      error: "VALIDATION",
      retryable: false,
      details: { maxMessageBytes: 100 },
    });
    await pubsub.publish("room", "b", {});
    expect(recorder.published).toEqual(["room: 1 0 -\na", "room: 3 1 -\nb"]);
  });
});
