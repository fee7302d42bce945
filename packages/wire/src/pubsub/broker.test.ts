import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeClock } from "../testing/fake-clock.ts";
import { BrokerPubSub } from "./broker.ts";
import { HEARTBEATS, type Transport, type TransportEvents } from "./transport.ts";

/** The server of a broker: what is published on it reaches every process that uses it. */
type Side = Set<Link>;

/** The transport of one process. The test decides which server it uses; none is an outage. */
class Link implements Transport {
  readonly isConnected = true;
  readonly maxMessageBytes: number;
  readonly published: string[] = [];
  readonly topics = new Set<string>();
  readonly events: TransportEvents;
  #side: Side | undefined;

  constructor(events: TransportEvents, side: Side, maxMessageBytes: number) {
    this.events = events;
    this.#side = side.add(this);
    this.maxMessageBytes = maxMessageBytes;
  }

  async subscribe(topic: string): Promise<void> {
    this.topics.add(topic);
  }
  async unsubscribe(topic: string): Promise<void> {
    this.topics.delete(topic);
  }
  async publish(topic: string, message: string): Promise<void> {
    if (this.#side === undefined) throw new Error("no connection");
    if (topic !== HEARTBEATS) this.published.push(`${topic}: ${withoutPublisher(message)}`);
    for (const link of this.#side) if (link.topics.has(topic)) link.events.received(topic, message);
  }
  async close(): Promise<void> {}

  leave(): void {
    this.#side?.delete(this);
    this.#side = undefined;
  }

  use(side: Side): void {
    this.leave();
    this.#side = side.add(this);
  }
}

function withoutPublisher(message: string): string {
  return message.replace(/^1 \S+ /, "");
}

const clock = () => new FakeClock();

function start({ maxMessageBytes = 1_000, time = clock(), side = new Set<Link>() as Side } = {}) {
  let link: Link | undefined;
  const pubsub = new BrokerPubSub(
    "test",
    (events) => {
      link = new Link(events, side, maxMessageBytes);
      return link;
    },
    {},
    time,
  );
  if (link === undefined) throw new Error("The pub/sub did not create its transport.");
  return { clock: time, pubsub, link, side };
}

/** What a subscriber is given, in order. */
function listen() {
  const events: string[] = [];
  const subscriber = {
    deliver: (_topic: string, frame: string) => events.push(frame),
    missed: (topic: string | undefined) => void events.push(`gap ${topic ?? "everywhere"}`),
  };
  return { events, subscriber };
}

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "info").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

describe("a pub/sub over a broker", () => {
  test("repeats after an outage of any length what was accepted in the minute before it, the last seconds first", async () => {
    const { clock, pubsub, link } = start();
    await pubsub.publish("long ago", "a", {});
    await clock.advance(60_000);
    await pubsub.publish("a while ago", "b", {});
    await clock.advance(6_000);
    await pubsub.publish("just before", "c", {});
    const lostAt = clock.now();
    await clock.advance(60_000);
    link.events.resumed(lostAt);
    await clock.advance(100);
    expect(link.published.slice(3)).toEqual([
      "just before: 66000000 66000000 - 60000",
      "a while ago: 60000000 60000000 - 66000",
    ]);
  });

  test("repeats only topics that used the connection", async () => {
    const { clock, pubsub, link } = start();
    for (const topic of ["here", "elsewhere"]) await pubsub.publish(topic, "x", {});
    link.events.resumed(clock.now(), (topic) => topic === "here");
    await clock.advance(100);
    expect(link.published.slice(2)).toEqual(["here: 1 1 - 0"]);
  });

  test("logs how many of its subscriptions were lost, why, and how many were restored", async () => {
    const { clock, pubsub, link } = start();
    for (const topic of ["a", "b", "c"]) await pubsub.subscribe(topic, { deliver: () => 0 });
    link.events.lost(["a", "b", "unknown"], "a slot moved to another node");
    expect(vi.mocked(console.warn).mock.calls).toEqual([
      [
        "[halyard] The test lost 2 of 3 subscriptions: a slot moved to another node. Subscribers may miss messages until they are restored.",
      ],
    ]);
    link.events.restored(["a", "c"]);
    link.events.restored(["b"]);
    await clock.advance(300);
    expect(vi.mocked(console.info).mock.calls).toEqual([["[halyard] The test restored 2 subscriptions."]]);
  });

  test("refuses a message larger than the broker accepts, without leaving a gap", async () => {
    const { clock, pubsub, link } = start({ maxMessageBytes: 100 });
    await clock.advance(1);
    await pubsub.publish("room", "a", {});
    expect(await pubsub.publish("room", "x".repeat(100), {})).toEqual({
      ok: false,
      error: "VALIDATION",
      retryable: false,
      details: { maxMessageBytes: 100 },
    });
    await pubsub.publish("room", "b", {});
    expect(link.published).toEqual(["room: 1000 0 -\na", "room: 1002 1000 -\nb"]);
  });
});

describe("a failover that leaves publisher and subscriber on different servers", () => {
  async function split(quietMs: number) {
    const time = clock();
    const [before, after] = [new Set<Link>(), new Set<Link>()];
    const publisher = start({ time, side: before });
    const reader = start({ time, side: before });
    const { events, subscriber } = listen();
    await reader.pubsub.subscribe("chat", subscriber);
    await publisher.pubsub.publish("chat", "m1", {});
    await time.advance(quietMs);
    reader.link.leave();
    reader.link.events.lost(["chat"], "the old server is gone");
    await time.advance(500);
    reader.link.use(after);
    reader.link.events.restored(["chat"]);
    await time.advance(2_000);
    expect(events.splice(0)).toEqual(["m1", "gap everywhere", "gap everywhere"]);
    const follow = () => publisher.link.use(after);
    return { time, publisher, reader, events, follow };
  }

  test("is announced before the next message, however old the last one is", async () => {
    for (const quietMs of [0, 60_000, 60 * 60_000]) {
      const { time, publisher, events, follow } = await split(quietMs);
      await publisher.pubsub.publish("chat", "lost", {});
      await time.advance(quietMs);
      follow();
      await publisher.pubsub.publish("chat", "m3", {});
      expect(events).toEqual(["gap chat", "m3"]);
    }
  });

  test("is announced when the publisher follows, without a next message", async () => {
    const { time, publisher, events, follow } = await split(60_000);
    await publisher.pubsub.publish("chat", "lost", {});
    await time.advance(10_000);
    const lostAt = time.now();
    follow();
    publisher.link.events.resumed(lostAt);
    await time.advance(100);
    expect(events).toEqual(["gap chat"]);
  });

  test("is announced to a subscriber that never received a message of that publisher", async () => {
    const { time, publisher, reader, events, follow } = await split(60_000);
    const late = listen();
    await reader.pubsub.subscribe("news", late.subscriber);
    await time.advance(101);
    await publisher.pubsub.publish("news", "lost", {});
    await time.advance(10_000);
    follow();
    await publisher.pubsub.publish("news", "n2", {});
    expect(late.events).toEqual(["gap news", "n2"]);
    expect(events).toEqual([]);
  });

  test("is not announced for a message from before the subscription that a busy process reads late", async () => {
    const { time, publisher, reader, follow } = await split(60_000);
    follow();
    const late = listen();
    await publisher.pubsub.publish("news", "n1", {});
    await time.advance(90);
    await reader.pubsub.subscribe("news", late.subscriber);
    await publisher.pubsub.publish("news", "n2", {});
    expect(late.events).toEqual(["n2"]);
  });

  test("causes no second announcement when nothing was lost after the first", async () => {
    const { time, publisher, events, follow } = await split(60_000);
    await time.advance(10_000);
    const lostAt = time.now();
    follow();
    publisher.link.events.resumed(lostAt);
    await publisher.pubsub.publish("chat", "m2", {});
    expect(events).toEqual(["m2"]);
  });
});

describe("a gap", () => {
  test("during an outage is announced once, although the next message names a message from that time", async () => {
    const time = clock();
    const side: Side = new Set();
    const [publisher, reader] = [start({ time, side }), start({ time, side })];
    const { events, subscriber } = listen();
    await reader.pubsub.subscribe("chat", subscriber);
    await publisher.pubsub.publish("chat", "m1", {});
    reader.link.leave();
    reader.link.events.lost(["chat"], "cut off");
    await publisher.pubsub.publish("chat", "in the outage", {});
    await time.advance(100);
    reader.link.use(side);
    reader.link.events.restored(["chat"]);
    await time.advance(2_000);
    await publisher.pubsub.publish("chat", "m3", {});
    expect(events).toEqual(["m1", "gap everywhere", "m3"]);
  });

  test("of many topics is announced over 1.5 s, but before a message that follows on one of them", async () => {
    const { clock, pubsub, link } = start();
    const { events, subscriber } = listen();
    const topics = Array.from({ length: 300 }, (_, i) => `t${i}`);
    for (const topic of [...topics, "not concerned"]) await pubsub.subscribe(topic, subscriber);
    link.events.lost(topics, "a node failed");
    link.events.restored(topics);
    expect(events).toHaveLength(10);
    await pubsub.publish("t299", "after", {});
    expect(events.slice(10)).toEqual(["gap t299", "after"]);
    await clock.advance(700);
    expect(events.length).toBeGreaterThan(100);
    expect(events.length).toBeLessThan(200);
    await clock.advance(800);
    expect(events.toSorted()).toEqual([...topics.map((topic) => `gap ${topic}`), "after"].toSorted());
  });
});

describe("a subscription during an outage", () => {
  test("that times out does not undo a later one of the same subscriber", async () => {
    const { clock, pubsub, link } = start();
    const [{ subscriber: other }, { events, subscriber }] = [listen(), listen()];
    await pubsub.subscribe("room", other);
    link.events.lost(["room"], "cut off");
    const first = Promise.resolve(pubsub.subscribe("room", subscriber)).catch(() => "refused");
    await clock.advance(1_000);
    void pubsub.unsubscribe("room", subscriber);
    const second = Promise.resolve(pubsub.subscribe("room", subscriber)).then(() => "joined");
    await clock.advance(1_500);
    expect(await first).toBe("refused");
    link.events.restored(["room"]);
    expect(await second).toBe("joined");
    await pubsub.publish("room", "x", {});
    expect(events.at(-1)).toBe("x");
  });
});

describe("positions of a publisher", () => {
  /** A reader, and a publisher that sent one message, which is then lost to it for this long. */
  async function silentFor(ms: number, { isAlive }: { readonly isAlive: boolean }) {
    const time = clock();
    const side: Side = new Set();
    const [publisher, reader] = [start({ time, side }), start({ time, side })];
    const { events, subscriber } = listen();
    await reader.pubsub.subscribe("chat", subscriber);
    await time.advance(5_000);
    await publisher.pubsub.publish("chat", "m1", {});
    if (!isAlive) publisher.link.leave();
    await time.advance(ms);
    publisher.link.use(side);
    await publisher.pubsub.publish("chat", "m2", {});
    return events;
  }

  test("are kept while it sends heartbeats, for any time", async () => {
    expect(await silentFor(24 * 60 * 60_000, { isAlive: true })).toEqual(["m1", "m2"]);
  });

  test("are kept for ten minutes after its death, and a later message counts as a gap in doubt", async () => {
    expect(await silentFor(10 * 60_000, { isAlive: false })).toEqual(["m1", "m2"]);
    expect(await silentFor(12 * 60_000, { isAlive: false })).toEqual(["m1", "gap chat", "m2"]);
  });
});
