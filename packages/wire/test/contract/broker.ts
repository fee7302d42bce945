/** The contract of a pub/sub with a broker while the broker fails: every call settles in time, and every gap is announced. */
import type { PrivateServer } from "@halyard/services";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PubSub, Subscriber } from "../../src/index.ts";
import { PATIENCE_MS } from "../fixtures/patience.ts";

/** A broker for this suite alone, and a way to connect to it per process. */
export interface TestBroker {
  readonly server: PrivateServer;
  /** A pub/sub as in another process. It is closed after the test. */
  open(): Promise<PubSub & { readonly status?: { readonly connected: boolean } }>;
  /** Writes to the broker directly, as another program could. */
  write(topic: string, text: string): Promise<unknown>;
  /** The same, to the channel of the heartbeats. */
  writeHeartbeat(text: string): Promise<unknown>;
  stop(): Promise<void>;
}

const POLL = { timeout: 30_000, interval: 10 };
/** Time in which a gap is announced on an idle machine. */
const ANNOUNCED_MS = 2_000;

type Event = { readonly frame: string } | { readonly missed: string | undefined };

class Listener implements Subscriber {
  readonly events: Event[] = [];

  deliver(_topic: string, frame: string): number {
    this.events.push({ frame });
    return 1;
  }

  missed(topic: string | undefined): void {
    this.events.push({ missed: topic });
  }

  accepts(frame: string): boolean {
    return frame !== "unacceptable";
  }

  get frames(): string[] {
    return this.events.flatMap((event) => ("frame" in event ? [event.frame] : []));
  }

  get gaps(): number {
    return this.events.filter((event) => "missed" in event).length;
  }
}

/** A gap in all topics: the end of an outage, which may be announced later than the first message after it. */
function isGeneral(event: Event): boolean {
  return "missed" in event && event.missed === undefined;
}

export function brokerContract(name: string, start: () => Promise<TestBroker>): void {
  describe(`pub/sub with ${name}, when the broker fails`, { timeout: 60_000 }, () => {
    let broker: TestBroker;
    const opened: PubSub[] = [];
    const open = async (): Promise<Awaited<ReturnType<TestBroker["open"]>>> => {
      const pubsub = await broker.open();
      opened.push(pubsub);
      return pubsub;
    };
    beforeAll(async () => {
      broker = await start();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((pubsub) => pubsub.close()));
    });
    afterAll(() => broker.stop());

    /** Publishes until the broker accepts it. */
    const publish = async (pubsub: PubSub, topic: string, frame: string): Promise<void> => {
      await expect.poll(async () => (await pubsub.publish(topic, frame, {})).ok, POLL).toBe(true);
    };

    test("a publish fails in time and succeeds again once the broker is back", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      expect(await pubsub.publish("room", "before", {})).toEqual({ ok: true });
      await broker.server.kill();
      const startedAt = performance.now();
      const results = await Promise.all(["1", "2", "3"].map((frame) => pubsub.publish("room", frame, {})));
      expect(performance.now() - startedAt).toBeLessThan(ANNOUNCED_MS + PATIENCE_MS);
      for (const result of results)
        expect(result).toMatchObject({ ok: false, error: "DISCONNECTED", retryable: true });
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(false);
      await broker.server.restart();
      await publish(pubsub, "room", "after");
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
    });

    test("a failed subscription rejects and does not exist afterwards", async () => {
      const pubsub = await open();
      await pubsub.subscribe("existing", new Listener());
      await broker.server.kill();
      const listener = new Listener();
      await expect((async () => pubsub.subscribe("room", listener))()).rejects.toThrow(Error);
      await broker.server.restart();
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await publish(pubsub, "room", "x");
      await pubsub.subscribe("room", listener);
      await publish(pubsub, "room", "y");
      await expect.poll(() => listener.frames, POLL).toEqual(["y"]);
    });

    test("subscribers receive a gap and then the messages published after it", async () => {
      const [near, far] = [await open(), await open()];
      const listeners = [new Listener(), new Listener()];
      for (const [i, listener] of listeners.entries()) {
        await near.subscribe(`room ${i}`, listener);
        await publish(far, `room ${i}`, "before");
        await expect.poll(() => listener.frames, POLL).toEqual(["before"]);
      }
      await broker.server.kill();
      await broker.server.restart();
      for (const [i, listener] of listeners.entries()) {
        // A message published before the other subscriber is back falls into the gap too.
        const lastFrame = async (): Promise<string | undefined> => {
          await far.publish(`room ${i}`, "after", {});
          return listener.frames.at(-1);
        };
        await expect.poll(lastFrame, POLL).toBe("after");
        const after = listener.events.findIndex((event) => "frame" in event && event.frame === "after");
        expect(listener.events.slice(1, after).some((event) => "missed" in event)).toBe(true);
      }
    });

    test("a longer outage is announced immediately and again when the broker is back", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      await broker.server.kill();
      const killedAt = performance.now();
      await expect.poll(() => listener.gaps, POLL).toBe(1);
      expect(performance.now() - killedAt).toBeLessThan(ANNOUNCED_MS + PATIENCE_MS);
      await broker.server.restart();
      await expect.poll(() => listener.gaps, POLL).toBe(2);
      expect(listener.events).toEqual([{ missed: undefined }, { missed: undefined }]);
    });

    test("a connection that died silently is detected, announced and replaced", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      await publish(pubsub, "room", "before");
      await expect.poll(() => listener.frames, POLL).toEqual(["before"]);
      broker.server.pause();
      try {
        const pausedAt = performance.now();
        const result = await pubsub.publish("room", "lost", {});
        expect(result).toMatchObject({ ok: false, error: "DISCONNECTED", retryable: true });
        await expect.poll(() => listener.gaps, POLL).toBeGreaterThan(0);
        expect(performance.now() - pausedAt).toBeLessThan(ANNOUNCED_MS + PATIENCE_MS);
      } finally {
        broker.server.resume();
      }
      // A message sent before the subscription is back would fall into another gap.
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await publish(pubsub, "room", "after");
      await expect.poll(() => listener.frames.at(-1), POLL).toBe("after");
    });

    test("a foreign, oversized or malformed message is not delivered and is announced as a gap", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      for (const text of [
        "{}",
        "",
        "1 a 1 1 - 60000",
        "2 a 1 0 -\n{}",
        `1 a 1 0 -\n${"x".repeat(1_000_000)}`,
      ])
        await broker.write("room", text);
      await publish(pubsub, "room", "unacceptable");
      await publish(pubsub, "room", "good");
      await expect.poll(() => listener.frames, POLL).toEqual(["good"]);
      // All except the mark, which describes the time before the subscription.
      expect(listener.gaps).toBe(5);
    });

    test("a gap in a publisher's messages is announced before the next message, and a duplicate is dropped", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      await broker.write("room", "1 other 7 3 -\nfirst");
      await broker.write("room", "1 other 9 7 -\nnext");
      await broker.write("room", "1 other 12 10 -\nafter a gap");
      await broker.write("room", "1 other 9 7 -\nnext");
      await broker.write("room", "1 other 14 14 - 0");
      await broker.write("room", "1 another 1 0 -\nlast");
      await expect.poll(() => listener.frames.at(-1), POLL).toBe("last");
      expect(listener.events).toEqual([
        { frame: "first" },
        { frame: "next" },
        { missed: "room" },
        { frame: "after a gap" },
        { missed: "room" },
        { frame: "last" },
      ]);
    });

    test("a message lost after an outage is announced before the next one, and one lost during it is not announced again", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      // Sequence numbers are the publisher's time in µs.
      const start = 1_000_000;
      await broker.write("room", `1 after ${start} 0 -\nbefore`);
      await broker.write("room", `1 during ${start} 0 -\nbefore`);
      await expect.poll(() => listener.frames, POLL).toEqual(["before", "before"]);
      await broker.server.kill();
      await broker.server.restart();
      // The status alone may still be that of the time before the outage.
      await expect.poll(() => listener.gaps, POLL).toBeGreaterThan(0);
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      const settled = listener.events.length;
      // The previous message is an hour older in the one case, and 1 µs in the other.
      await broker.write("room", `1 during ${start + 3_600_000_001} ${start + 1} -\nold`);
      await broker.write("room", `1 after ${start + 3_600_000_001} ${start + 3_600_000_000} -\nnew`);
      await expect.poll(() => listener.frames.at(-1), POLL).toBe("new");
      expect(listener.events.slice(settled).filter((event) => !isGeneral(event))).toEqual([
        { frame: "old" },
        { missed: "room" },
        { frame: "new" },
      ]);
    });

    test("a message that arrived before an outage is not announced as missing after it", async () => {
      const [near, far] = [await open(), await open()];
      const listener = new Listener();
      await near.subscribe("room", listener);
      await publish(far, "room", "before");
      await expect.poll(() => listener.frames, POLL).toEqual(["before"]);
      await broker.server.kill();
      await broker.server.restart();
      // The status alone may still be that of the time before the outage.
      await expect.poll(() => listener.gaps, POLL).toBeGreaterThan(0);
      await expect.poll(() => near.status?.connected, POLL).toBe(true);
      await publish(far, "room", "after");
      await expect.poll(() => listener.frames, POLL).toContain("after");
      expect(listener.events.filter((event) => "missed" in event && event.missed === "room")).toEqual([]);
    });

    test("heartbeats of other programs with access to the broker do no harm", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      for (const text of ["", "1", "1 stranger x", `1 ${"x".repeat(100)} 1`, "1 stranger 100000000000000"])
        await broker.writeHeartbeat(text);
      await publish(pubsub, "room", "good");
      await expect.poll(() => listener.events, POLL).toEqual([{ frame: "good" }]);
    });

    test("messages accepted from an unknown publisher are announced as a gap once that publisher reports them", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      await broker.write("room", "1 stranger 5 5 - 60000");
      await publish(pubsub, "room", "between");
      await expect.poll(() => listener.events, POLL).toEqual([{ frame: "between" }]);
      await broker.write("room", "1 another 7 7 - 0");
      await expect.poll(() => listener.events, POLL).toEqual([{ frame: "between" }, { missed: "room" }]);
    });

    test("a subscription to an unavailable topic either succeeds later or leaves nothing behind", async () => {
      const pubsub = await open();
      const [first, second, third] = [new Listener(), new Listener(), new Listener()];
      await pubsub.subscribe("room", first);
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await broker.server.kill();
      // With two connections, the subscribing one may notice the outage second.
      await expect.poll(() => first.gaps, POLL).toBeGreaterThan(0);
      expect(pubsub.status?.connected).toBe(false);
      await expect((async () => pubsub.subscribe("room", second))()).rejects.toThrow(Error);
      const joined = Promise.resolve(pubsub.subscribe("room", third));
      const outcome = joined.then(
        () => "joined",
        () => "refused",
      );
      await broker.server.restart();
      // On a busy machine this may take longer than the timeout of the subscription.
      if ((await outcome) === "refused") await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await pubsub.subscribe("room", third);
      await publish(pubsub, "room", "after");
      await expect.poll(() => third.frames, POLL).toEqual(["after"]);
      expect([first.frames, second.frames]).toEqual([["after"], []]);
    });

    test("a message too large for delivery is refused when it is published", async () => {
      const pubsub = await open();
      const result = await pubsub.publish("room", "x".repeat(1_000_000), {});
      expect(result).toMatchObject({ ok: false, error: "VALIDATION", retryable: false });
    });
  });
}
