/** What every pub/sub with a broker keeps when the broker does not: answers in time, and no hole without a word. */
import type { PrivateServer } from "@halyard/services";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PubSub, Subscriber } from "../../src/index.ts";
import { PATIENCE_MS } from "../fixtures/patience.ts";

/** A broker of the suite's own, and a way to it for each process. */
export interface TestBroker {
  readonly server: PrivateServer;
  /** A pub/sub as in another process; closed with the suite's test. */
  open(): Promise<PubSub & { readonly status?: { readonly connected: boolean } }>;
  /** Writes to the broker beside the pub/sub, as a stranger could. */
  write(topic: string, text: string): Promise<unknown>;
  stop(): Promise<void>;
}

const POLL = { timeout: 30_000, interval: 10 };
/** A hole is announced by then, on a machine that is not busy. */
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

    /** Publishes until the broker takes it. */
    const publish = async (pubsub: PubSub, topic: string, frame: string): Promise<void> => {
      await expect.poll(async () => (await pubsub.publish(topic, frame, {})).ok, POLL).toBe(true);
    };

    test("a publish says that it failed, in time, and goes out again once the broker is back", async () => {
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

    test("a subscription says that it failed, and is not there afterwards", async () => {
      const pubsub = await open();
      await pubsub.subscribe("known", new Listener());
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

    test("subscribers are told of the hole, and hear again what is published after it", async () => {
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
        // What one of them publishes before the other is back falls into the hole, too.
        const heard = async (): Promise<string | undefined> => {
          await far.publish(`room ${i}`, "after", {});
          return listener.frames.at(-1);
        };
        await expect.poll(heard, POLL).toBe("after");
        const after = listener.events.findIndex((event) => "frame" in event && event.frame === "after");
        expect(listener.events.slice(1, after).some((event) => "missed" in event)).toBe(true);
      }
    });

    test("a broker that is away for longer is announced at once, and again when it is back", async () => {
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

    test("a link that died without a word is found, announced, and replaced", async () => {
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
      // Else it may go out before it can be heard again, which is a hole like any other.
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await publish(pubsub, "room", "after");
      await expect.poll(() => listener.frames.at(-1), POLL).toBe("after");
    });

    test("a message that is not ours, too large or no frame is not delivered, and announced as a hole", async () => {
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
      // All but the mark, which tells of a time before the subscription.
      expect(listener.gaps).toBe(5);
    });

    test("a hole in what one publisher sent is announced before what follows it, and a repetition is dropped", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      await broker.write("room", "1 other 7 3 -\nfirst");
      await broker.write("room", "1 other 9 7 -\nnext");
      await broker.write("room", "1 other 12 10 -\nafter a hole");
      await broker.write("room", "1 other 9 7 -\nnext");
      await broker.write("room", "1 other 14 14 - 0");
      await broker.write("room", "1 another 1 0 -\nlast");
      await expect.poll(() => listener.frames.at(-1), POLL).toBe("last");
      expect(listener.events).toEqual([
        { frame: "first" },
        { frame: "next" },
        { missed: "room" },
        { frame: "after a hole" },
        { missed: "room" },
        { frame: "last" },
      ]);
    });

    test("what a publisher that was never heard had accepted meanwhile is announced, once he says so", async () => {
      const pubsub = await open();
      const listener = new Listener();
      await pubsub.subscribe("room", listener);
      await broker.write("room", "1 stranger 5 5 - 60000");
      await publish(pubsub, "room", "between");
      await expect.poll(() => listener.events, POLL).toEqual([{ frame: "between" }]);
      await broker.write("room", "1 another 7 7 - 0");
      await expect.poll(() => listener.events, POLL).toEqual([{ frame: "between" }, { missed: "room" }]);
    });

    test("a topic that is not heard is joined once it is, or not at all", async () => {
      const pubsub = await open();
      const [first, second, third] = [new Listener(), new Listener(), new Listener()];
      await pubsub.subscribe("room", first);
      await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await broker.server.kill();
      // Where there are two connections, the one that listens may be the second to know.
      await expect.poll(() => first.gaps, POLL).toBeGreaterThan(0);
      expect(pubsub.status?.connected).toBe(false);
      await expect((async () => pubsub.subscribe("room", second))()).rejects.toThrow(Error);
      const joined = Promise.resolve(pubsub.subscribe("room", third));
      const outcome = joined.then(
        () => "joined",
        () => "refused",
      );
      await broker.server.restart();
      // On a busy machine it may take longer than whoever joins waits.
      if ((await outcome) === "refused") await expect.poll(() => pubsub.status?.connected, POLL).toBe(true);
      await pubsub.subscribe("room", third);
      await publish(pubsub, "room", "after");
      await expect.poll(() => third.frames, POLL).toEqual(["after"]);
      expect([first.frames, second.frames]).toEqual([["after"], []]);
    });

    test("a message too large to be heard is refused when it is published", async () => {
      const pubsub = await open();
      const result = await pubsub.publish("room", "x".repeat(1_000_000), {});
      expect(result).toMatchObject({ ok: false, error: "VALIDATION", retryable: false });
    });
  });
}
