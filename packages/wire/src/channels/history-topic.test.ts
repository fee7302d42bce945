import { uuidv7 } from "@halyard/base";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryPubSub } from "../pubsub/memory.ts";
import type { Subscriber } from "../pubsub/pubsub.ts";
import type { RouterOptions } from "../router/options.ts";
import { settle } from "../testing/fake-clock.ts";
import { createTestServer, type TestConnection } from "../testing/index.ts";
import { channel, createRouter, message, z } from "../zod.ts";

const Said = message("SAID", { n: z.number(), pad: z.string() });
const Room = channel("room", { events: [Said], history: { size: 100, ttlMs: 60_000 } });

/** A pub/sub whose answers from the history can be late. */
class SlowPubSub extends MemoryPubSub {
  readonly #waiting: (() => void)[] = [];
  isSlow = false;

  override get history() {
    const history = super.history;
    return {
      ...bound(history),
      read: async (...args: Parameters<typeof history.read>) => {
        const page = history.read(...args);
        if (this.isSlow) await new Promise<void>((resolve) => this.#waiting.push(resolve));
        return page;
      },
    };
  }

  /** Without a connection, no subscription is confirmed. */
  readonly status = { connected: true, refused: 0, gaps: 0 };
  readonly #subscribers = new Set<Subscriber>();
  #isLossy = false;

  override subscribe(topic: string, subscriber: Subscriber): void {
    if (!this.status.connected) throw new Error("there is no connection");
    this.#subscribers.add(subscriber);
    super.subscribe(topic, {
      deliver: (...args) => (this.#isLossy ? 0 : subscriber.deliver(...args)),
    });
  }

  /** The next frames are lost, until the subscribers are told. */
  lose(): void {
    this.#isLossy = !this.#isLossy;
    if (!this.#isLossy) for (const subscriber of this.#subscribers) subscriber.missed?.(undefined);
  }

  /** All losses are over, and announced. */
  restore(): void {
    if (this.#isLossy) this.lose();
  }

  get waitingReads(): number {
    return this.#waiting.length;
  }

  /** Lets every read that waits continue. */
  async answer(): Promise<void> {
    for (const resolve of this.#waiting.splice(0)) resolve();
    await settle();
  }

  /** Lets the newest read that waits continue. */
  async answerNewest(): Promise<void> {
    this.#waiting.pop()?.();
    await settle();
  }
}

function bound<T extends object>(object: T): T {
  return new Proxy(object, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
    ownKeys: () => ["append", "read", "top", "delete"],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  });
}

function serve(options: RouterOptions = {}) {
  const pubsub = new SlowPubSub();
  const router = createRouter({ pubsub, socketBufferLimitBytes: 1_000, ...options });
  router.channel(Room, { authorize: () => true });
  const server = createTestServer(router);
  let published = 0;
  return {
    pubsub,
    server,
    publish: async (count = 1, length = 10, character = "x") => {
      for (let i = 0; i < count; i++)
        await router.to(Room, {}).publish(Said, { n: ++published, pad: character.repeat(length) });
    },
  };
}

async function join(peer: TestConnection, more: object = {}): Promise<void> {
  const payload = { channel: "room", params: {}, ...more };
  await peer.sendRaw(JSON.stringify({ type: "$ws:join", meta: { correlationId: uuidv7() }, payload }));
}

/** Offsets of messages, and "gap" with its reason. */
function story(peer: TestConnection): (number | string)[] {
  return peer.frames.flatMap<number | string>(({ type, meta, payload }) => {
    if (type === "SAID") return [meta["$o"] as number];
    return type === "$ws:gap" ? [`gap ${(payload as { reason: string }).reason}`] : [];
  });
}

function positionOf(peer: TestConnection): { epoch: string; offset: number } {
  const joined = peer.frames.findLast(({ type }) => type === "$ws:joined");
  if (joined === undefined) throw new Error("The peer has not joined.");
  return (joined.payload as { position: { epoch: string; offset: number } }).position;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("a member of a channel with history", () => {
  test("gets what is published while the store is read, once and in order", async () => {
    const { pubsub, server, publish } = serve();
    await publish(3);
    const peer = await server.connect();
    pubsub.isSlow = true;
    await join(peer, { last: 2 });
    await publish(2);
    await pubsub.answer();
    await publish(1);
    expect(story(peer)).toEqual([2, 3, 4, 5, 6]);
    expect(positionOf(peer).offset).toBe(1);
  });

  test("resumes after its position", async () => {
    const { server, publish } = serve();
    const first = await server.connect();
    await join(first);
    const { epoch } = positionOf(first);
    await publish(5);
    const again = await server.connect();
    await join(again, { position: { epoch, offset: 2 } });
    await publish(1);
    expect(story(again)).toEqual([3, 4, 5, 6]);
  });

  test.each([
    ["another epoch", { epoch: "other", offset: 2 }, "gap epoch"],
    ["an offset that was never reached", { offset: 50 }, "gap retention"],
  ])("that resumes from %s gets a gap before the kept messages", async (_, position, gap) => {
    const { server, publish } = serve();
    const first = await server.connect();
    await join(first);
    await publish(3);
    const again = await server.connect();
    await join(again, { position: { epoch: positionOf(first).epoch, ...position } });
    expect(story(again)).toEqual([gap, 1, 2, 3]);
  });

  test.each([
    [{}],
    [null],
    ["0"],
    [{ epoch: "x", offset: -1 }],
    [{ epoch: "x", offset: 1.5 }],
    [{ epoch: 5, offset: 0 }],
  ])("with the position %j is refused", async (position) => {
    const { server } = serve();
    const peer = await server.connect();
    await join(peer, { position });
    expect(peer.frames.at(-1)?.payload).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("that reads slowly gets the rest from the store instead of a gap", async () => {
    const { server, publish } = serve();
    const [slow, quick] = [await server.connect(), await server.connect()];
    for (const peer of [slow, quick]) await join(peer);
    slow.pause();
    await publish(20, 200);
    await slow.resume();
    await publish(2);
    await settle();
    expect(story(slow)).toEqual(range(1, 22));
    expect(story(quick)).toEqual(range(1, 22));
  });

  test("that needs more than 4 MiB gets a gap, and then live messages", async () => {
    const { server, publish } = serve({ socketBufferLimitBytes: 10_000_000 });
    await publish(8, 900_000);
    const peer = await server.connect();
    await join(peer, { last: 8 });
    await settle();
    await publish(1);
    const got = story(peer);
    expect(got.at(-1)).toBe(9);
    expect(got.filter((entry) => entry === "gap retention")).toHaveLength(1);
  });

  test("that has got more than 4 MiB gets no gap when nothing is missing", async () => {
    const { pubsub, server, publish } = serve({ socketBufferLimitBytes: 10_000_000 });
    await publish(5, 900_000);
    const peer = await server.connect();
    pubsub.isSlow = true;
    await join(peer, { last: 5 });
    // A message is larger than a page, so each read gets one.
    for (let read = 1; read < 5; read++) await pubsub.answer();
    expect(pubsub.waitingReads).toBe(1);
    // A loss during the last read: the store has to be read again.
    pubsub.lose();
    pubsub.restore();
    await pubsub.answer();
    pubsub.isSlow = false;
    await pubsub.answer();
    await publish(1);
    expect(story(peer)).toEqual(range(1, 6));
  });

  test("gets at most 4 MiB of UTF-8, also when its characters have several bytes", async () => {
    const { server, publish } = serve({ socketBufferLimitBytes: 20_000_000 });
    await publish(8, 300_000, "\u20ac");
    const peer = await server.connect();
    await join(peer, { last: 8 });
    await settle();
    const got = story(peer);
    expect(got).toContain("gap retention");
    const messages = got.filter((entry) => typeof entry === "number");
    // The message that exceeds the limit is sent as a whole.
    expect(messages.length * 900_000).toBeLessThan(4_194_304 + 1_000_000);
  });

  test("that joins a second time misses nothing for its first room", async () => {
    const { pubsub, server, publish } = serve();
    const peer = await server.connect();
    await join(peer);
    await publish(1);
    // In the store, and not here yet.
    pubsub.lose();
    await publish(2);
    await join(peer);
    pubsub.restore();
    await settle();
    await publish(1);
    expect(story(peer)).toEqual([1, 2, 3, 4]);
  });

  test("that joins a second time during a replay gets the rest of it", async () => {
    const { server, publish } = serve();
    const peer = await server.connect();
    await join(peer);
    peer.pause();
    await publish(20, 200);
    const reached = story(peer).length;
    expect(reached).toBeLessThan(20);
    await join(peer);
    for (let i = 0; i < 10; i++) await peer.resume();
    expect(story(peer)).toEqual(range(1, 20));
  });

  test("that joins again gets no gap of the replay before", async () => {
    const { pubsub, server, publish } = serve();
    const peer = await server.connect();
    await join(peer);
    const { epoch } = positionOf(peer);
    peer.pause();
    await publish(150, 200);
    const offset = story(peer).length;
    pubsub.isSlow = true;
    await peer.resume();
    await join(peer, { position: { epoch, offset } });
    expect(pubsub.waitingReads).toBe(2);
    await pubsub.answerNewest();
    pubsub.isSlow = false;
    await pubsub.answer();
    for (let i = 0; i < 40; i++) await peer.resume();
    expect(story(peer).slice(offset)).toEqual(["gap retention", ...range(51, 150)]);
  });

  test("cannot make the server read more than 8 pages at once", async () => {
    const { pubsub, server, publish } = serve({ socketBufferLimitBytes: 1_000_000 });
    await publish(3);
    const peer = await server.connect();
    pubsub.isSlow = true;
    for (let i = 0; i < 50; i++) await join(peer, { last: 3 });
    expect(pubsub.waitingReads).toBe(8);
    for (let i = 0; i < 10; i++) await pubsub.answer();
    expect(peer.frames.filter(({ type }) => type === "$ws:joined")).toHaveLength(50);
  });

  test("gets what was published between two losses, although the store was read for the first one", async () => {
    const { pubsub, server, publish } = serve();
    const peer = await server.connect();
    await join(peer);
    await publish(1);
    pubsub.isSlow = true;
    pubsub.lose();
    pubsub.restore();
    await settle();
    // The page for the first loss is on its way, without these.
    await publish(2);
    pubsub.lose();
    pubsub.restore();
    pubsub.isSlow = false;
    await pubsub.answer();
    expect(story(peer)).toEqual([1, 2, 3]);
  });

  test("that joins while the broker confirms no subscription gets everything after the outage", async () => {
    const unhandled: unknown[] = [];
    const collect = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", collect);
    const { pubsub, server, publish } = serve();
    const first = await server.connect();
    await join(first);
    await publish(1);
    pubsub.lose();
    pubsub.status.connected = false;
    const second = await server.connect();
    await join(second, { last: 1 });
    await publish(2);
    pubsub.status.connected = true;
    pubsub.restore();
    // A rejection without a handler is reported in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", collect);
    expect(unhandled).toEqual([]);
    for (const peer of [first, second]) expect(story(peer)).toEqual([1, 2, 3]);
  });

  test("gets a message of more than 1 MiB that is published while the store is read after a loss", async () => {
    const { pubsub, server, publish } = serve({ socketBufferLimitBytes: 10_000_000 });
    const peer = await server.connect();
    await join(peer);
    await publish(1);
    pubsub.isSlow = true;
    pubsub.lose();
    pubsub.restore();
    await settle();
    await publish(1, 1_100_000);
    pubsub.isSlow = false;
    await pubsub.answer();
    expect(story(peer)).toEqual([1, 2]);
  });

  test("gets everything once and in order, however it reads, joins and leaves", async () => {
    const step = fc.oneof(
      fc.record({ publish: fc.integer({ min: 1, max: 6 }) }),
      fc.constantFrom("pause", "resume", "join", "join a second room", "slow store", "answer", "lose"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { pubsub, server, publish } = serve();
        const peer = await server.connect();
        await join(peer);
        await publish(1);
        let count = 1;
        for (const action of steps) {
          if (typeof action === "object") {
            await publish(action.publish, 150);
            count += action.publish;
          } else if (action === "pause") peer.pause();
          else if (action === "resume") await peer.resume();
          else if (action === "slow store") pubsub.isSlow = true;
          else if (action === "answer") await pubsub.answer();
          else if (action === "lose") pubsub.lose();
          else if (action === "join a second room") await join(peer);
          else if (action === "join")
            await join(peer, { position: { epoch: positionOf(peer).epoch, offset: 0 } });
        }
        pubsub.isSlow = false;
        pubsub.restore();
        await pubsub.answer();
        for (let i = 0; i < 20; i++) {
          await peer.resume();
          await pubsub.answer();
        }
        // A client ignores offsets that it has had. After that, every offset is there, in order.
        const accepted: number[] = [];
        for (const offset of story(peer))
          if (typeof offset === "number" && offset > (accepted.at(-1) ?? 0)) accepted.push(offset);
        if (count <= 100) expect(accepted).toEqual(range(1, count));
      }),
      { numRuns: 200 },
    );
  });
});
