/** The contract of every pub/sub, in one process or with a broker. The tests wait for deliveries. */
import { afterEach, describe, expect, test } from "vitest";
import type { PubSub, Subscriber } from "../../src/index.ts";

/** Two ends of one pub/sub: the same object in one process, otherwise two connections to one broker. */
export interface TestBus {
  readonly near: PubSub;
  readonly far: PubSub;
  stop(): Promise<void>;
}

interface Delivery {
  readonly topic: string;
  readonly frame: string;
  readonly excludeClientId: string | undefined;
}

/** Counts itself as one connection unless it is the excluded one. */
class Listener implements Subscriber {
  readonly deliveries: Delivery[] = [];
  readonly #clientId: string;

  constructor(clientId = "listener") {
    this.#clientId = clientId;
  }

  deliver(topic: string, frame: string, excludeClientId: string | undefined): number {
    this.deliveries.push({ topic, frame, excludeClientId });
    return excludeClientId === this.#clientId ? 0 : 1;
  }

  get frames(): string[] {
    return this.deliveries.map(({ frame }) => frame);
  }
}

const POLL = { timeout: 10_000, interval: 10 };

export function pubsubContract(
  name: string,
  start: () => Promise<TestBus>,
  /** False for a pub/sub that refuses to exclude a connection. */
  { excludesSender = true }: { excludesSender?: boolean } = {},
): void {
  describe(`pub/sub with ${name}`, () => {
    let bus: TestBus | undefined;
    afterEach(async () => {
      await bus?.stop();
      bus = undefined;
    });
    const open = async (): Promise<TestBus> => {
      bus = await start();
      return bus;
    };
    /** Resolves once everything published to this topic so far has been delivered. */
    const settled = async ({ near, far }: TestBus, topic: string): Promise<void> => {
      for (const [i, end] of [near, far].entries()) {
        const marker = new Listener();
        await end.subscribe(topic, marker);
        await near.publish(topic, `settled ${i}`, {});
        await expect.poll(() => marker.frames, POLL).toContain(`settled ${i}`);
        await end.unsubscribe(topic, marker);
      }
    };
    const published = (listener: Listener) => listener.frames.filter((frame) => !frame.startsWith("settled"));

    test("a frame published on either end reaches subscribers on both ends unchanged", async () => {
      const { near, far } = await open();
      const [here, there] = [new Listener(), new Listener()];
      await near.subscribe("room", here);
      await far.subscribe("room", there);
      const frames = ['{"type":"A"}', "Zoë 🛶 \u2028", "x".repeat(100_000)];
      for (const frame of frames) expect(await near.publish("room", frame, {})).toMatchObject({ ok: true });
      expect(await far.publish("room", "back", {})).toMatchObject({ ok: true });
      for (const listener of [here, there])
        await expect.poll(() => [...listener.frames].sort(), POLL).toEqual([...frames, "back"].sort());
    });

    test("a frame reaches the subscribers of its topic and of no other", async () => {
      const { near, far } = await open();
      const topics = ["a", "ab", "a*", "a.b", "A", "a:b", "*", "a?", "é", ">"];
      const listeners = topics.map(() => new Listener());
      for (const [i, topic] of topics.entries()) await far.subscribe(topic, listeners[i] ?? new Listener());
      for (const topic of topics) await near.publish(topic, `to ${topic}`, {});
      for (const [i, topic] of topics.entries()) {
        await expect.poll(() => listeners[i]?.deliveries.length, POLL).toBeGreaterThan(0);
        expect(listeners[i]?.deliveries).toEqual([
          { topic, frame: `to ${topic}`, excludeClientId: undefined },
        ]);
      }
    });

    test("each subscriber receives the frames of one publisher in order, without loss or duplicates", async () => {
      const { near, far } = await open();
      const listeners = [new Listener(), new Listener()];
      await near.subscribe("room", listeners[0] ?? new Listener());
      await far.subscribe("room", listeners[1] ?? new Listener());
      const frames = Array.from({ length: 1_000 }, (_, i) => String(i));
      await Promise.all(frames.map((frame) => near.publish("room", frame, {})));
      for (const listener of listeners) {
        await expect.poll(() => listener.frames.length, POLL).toBe(1_000);
        expect(listener.frames).toEqual(frames);
      }
    });

    test("every frame published after subscribe has resolved is received", async () => {
      const { near, far } = await open();
      for (let round = 0; round < 50; round++) {
        const listener = new Listener();
        await far.subscribe(`round ${round}`, listener);
        await near.publish(`round ${round}`, "first", {});
        await expect.poll(() => listener.frames, POLL).toEqual(["first"]);
      }
    });

    test("a removed subscriber receives nothing more, and the others continue", async () => {
      const ends = await open();
      const [leaving, staying] = [new Listener(), new Listener()];
      await ends.near.subscribe("room", leaving);
      await ends.near.subscribe("room", staying);
      await ends.near.publish("room", "1", {});
      await expect.poll(() => leaving.frames, POLL).toEqual(["1"]);
      await ends.near.unsubscribe("room", leaving);
      await ends.near.publish("room", "2", {});
      await settled(ends, "room");
      expect([published(leaving), published(staying)]).toEqual([["1"], ["1", "2"]]);
    });

    test("subscribing twice is one subscription, and unsubscribing twice has no further effect", async () => {
      const ends = await open();
      const listener = new Listener();
      await ends.near.subscribe("room", listener);
      await ends.near.subscribe("room", listener);
      await ends.near.publish("room", "once", {});
      await settled(ends, "room");
      expect(published(listener)).toEqual(["once"]);
      await ends.near.unsubscribe("room", listener);
      await ends.near.unsubscribe("room", listener);
      await ends.near.unsubscribe("never joined", listener);
      await ends.near.publish("room", "gone", {});
      await settled(ends, "room");
      expect(published(listener)).toEqual(["once"]);
    });

    test("the last of several concurrent subscribe and unsubscribe calls takes effect", async () => {
      const ends = await open();
      const [stays, leaves] = [new Listener(), new Listener()];
      await Promise.all([
        ends.near.subscribe("stays", stays),
        ends.near.unsubscribe("stays", stays),
        ends.near.subscribe("stays", stays),
        ends.near.subscribe("leaves", leaves),
        ends.near.unsubscribe("leaves", leaves),
      ]);
      await ends.near.publish("stays", "x", {});
      await ends.near.publish("leaves", "x", {});
      await settled(ends, "leaves");
      await settled(ends, "stays");
      expect([published(stays), published(leaves)]).toEqual([["x"], []]);
    });

    test.skipIf(excludesSender)(
      "a publish that excludes a connection is refused where the pub/sub cannot exclude one",
      async () => {
        const { near } = await open();
        const listener = new Listener("me");
        await near.subscribe("room", listener);
        const result = await near.publish("room", "psst", { excludeClientId: "me" });
        expect(result).toMatchObject({ ok: false, error: "UNSUPPORTED", retryable: false });
        await near.publish("room", "to all", {});
        await expect.poll(() => listener.frames, POLL).toEqual(["to all"]);
      },
    );

    test.runIf(excludesSender)("the excluded connection travels with the frame to every end", async () => {
      const { near, far } = await open();
      const [sender, other] = [new Listener("me"), new Listener("you")];
      await near.subscribe("room", sender);
      await far.subscribe("room", other);
      await near.publish("room", "psst", { excludeClientId: "me" });
      for (const listener of [sender, other])
        await expect.poll(() => listener.deliveries[0]?.excludeClientId, POLL).toBe("me");
    });

    test.runIf(excludesSender)(
      "matchedLocal, when present, counts the local subscribers that received the frame",
      async () => {
        const { near } = await open();
        await near.subscribe("room", new Listener("a"));
        await near.subscribe("room", new Listener("b"));
        const result = await near.publish("room", "x", { excludeClientId: "a" });
        expect(result.ok).toBe(true);
        if (result.ok && result.matchedLocal !== undefined) expect(result.matchedLocal).toBe(1);
      },
    );

    test("a publish to a topic without subscribers is accepted", async () => {
      const { near } = await open();
      expect(await near.publish("empty", "x", { partitionKey: "k" })).toMatchObject({ ok: true });
    });

    test("a publish after close fails immediately, and nothing more is delivered", async () => {
      const { near } = await open();
      const listener = new Listener();
      await near.subscribe("room", listener);
      await near.close();
      const result = await near.publish("room", "late", {});
      expect(result).toMatchObject({ ok: false, error: "DISCONNECTED" });
      expect(listener.frames).toEqual([]);
      await near.close();
    });

    test("who enters a topic reaches those that are there, and learns whether there are any", async () => {
      const ends = await open();
      const [first, second] = [new Listener(), new Listener()];
      const topic = "$with/$c/a room {with} braces";
      // A pub/sub that has no broker, or cannot tell, has no such method.
      if (ends.near.enter === undefined) return;
      expect(await ends.near.enter(topic, first, () => "first")).toBe(false);
      expect(await ends.far.enter?.(topic, second, () => "second")).toBe(true);
      await expect.poll(() => first.frames, POLL).toContain("second");
      await ends.near.publish(topic, "both", {});
      for (const listener of [first, second])
        await expect.poll(() => listener.frames, POLL).toContain("both");
      await ends.near.unsubscribe(topic, first);
      await ends.far.unsubscribe(topic, second);
      await settled(ends, topic);
      expect(await ends.far.enter?.(topic, second, () => "third")).toBe(false);
    });

    test("what is carried on entering a topic tells what holds when it is sent", async () => {
      const ends = await open();
      const [first, second] = [new Listener(), new Listener()];
      if (ends.near.enter === undefined) return;
      await ends.far.subscribe("$with/room", second);
      await settled(ends, "$with/room");
      let members = "none";
      const entered = ends.near.enter("$with/room", first, () => members);
      const joined = ends.near.publish("$with/room", "ann joined", {});
      members = "ann";
      await Promise.all([entered, joined]);
      await settled(ends, "$with/room");
      const { frames } = second;
      expect(frames.slice(frames.indexOf("ann joined") + 1)).not.toContain("none");
    });

    test("one that leaves a topic while it enters carries nothing more", async () => {
      const ends = await open();
      const [first, second] = [new Listener(), new Listener()];
      if (ends.near.enter === undefined) return;
      await ends.far.subscribe("$with/room", second);
      await settled(ends, "$with/room");
      let isHere = true;
      const seen: boolean[] = [];
      const entered = ends.near.enter("$with/room", first, () => {
        seen.push(isHere);
        return "entered";
      });
      isHere = false;
      await ends.near.unsubscribe("$with/room", first);
      await entered.catch(() => undefined);
      expect(seen).not.toContain(false);
    });

    test("of two that enter a topic at the same time, one receives the frame of the other", async () => {
      const { near, far } = await open();
      if (near.enter === undefined || far.enter === undefined) return;
      for (let i = 0; i < 20; i++) {
        const [here, there] = [new Listener(), new Listener()];
        const entered = await Promise.all([
          near.enter(`$with/${i}`, here, () => "near"),
          far.enter(`$with/${i}`, there, () => "far"),
        ]);
        const hear = async () =>
          entered.includes(true) || here.frames.includes("far") || there.frames.includes("near");
        await expect.poll(hear, POLL).toBe(true);
      }
    });
  });
}
