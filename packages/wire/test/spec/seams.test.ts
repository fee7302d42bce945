import { describe, expect, test, vi } from "vitest";
import { MemoryPubSub, type SendOutcome, type Socket, type Subscriber } from "../../src/index.ts";
import { createTestServer, type TestFrame } from "../../src/testing/index.ts";
import { framesOf, UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";

/** A platform socket as a custom adapter would provide it. */
class CustomSocket implements Socket {
  readonly frames: TestFrame[] = [];
  readonly closes: [number, string][] = [];
  bufferedBytes = 0;
  outcome: SendOutcome = "sent";

  send(frame: string): SendOutcome {
    if (this.outcome !== "dropped") this.frames.push(JSON.parse(frame));
    return this.outcome;
  }

  close(code: number, reason: string): void {
    this.closes.push([code, reason]);
  }
}

describe.each(libraries)("guide/router: Methods ($name)", ({ createRouter, message, rpc, number }) => {
  const Add = rpc("ADD", { n: number() }, "SUM", { n: number() });
  const News = message("NEWS", { n: number() });
  const adding = () => createRouter().rpc(Add, (ctx) => ctx.reply(Add.response, { n: ctx.payload.n + 1 }));
  const data = { clientId: "0190163d-8694-739b-aea5-966c26f8ad90" };

  test("accept(socket, data) adds a connection and returns receive, pong, drained, tooLarge and closed", () => {
    const socket = new CustomSocket();
    const closed: number[] = [];
    const events = adding()
      .onClose((ctx) => closed.push(ctx.code))
      .accept(socket, data);
    events.receive('{"type":"ADD","meta":{"correlationId":"1"},"payload":{"n":1}}');
    events.pong();
    events.drained();
    expect(socket.frames.map((frame) => [frame.type, frame.payload])).toEqual([
      ["$ws:hello", expect.objectContaining({ v: 1, clientId: data.clientId })],
      ["SUM", { n: 2 }],
    ]);
    events.closed(4000, "bye");
    events.receive('{"type":"ADD","meta":{"correlationId":"2"},"payload":{"n":1}}');
    expect(closed).toEqual([4000]);
    expect(socket.frames).toHaveLength(2);
    expect(events.tooLarge).toBeTypeOf("function");
  });

  test("a socket without ping is not pinged and not closed for its silence", async () => {
    vi.useFakeTimers();
    try {
      const socket = new CustomSocket();
      const router = createRouter({ heartbeat: { intervalMs: 1_000, timeoutMs: 500 } });
      const events = router.accept(socket, data);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(socket.closes).toEqual([]);
      events.closed(1000, "");
    } finally {
      vi.useRealTimers();
    }
  });

  test("accept with resumedTopics resumes a connection with its topics, without hello and onOpen", async () => {
    const socket = new CustomSocket();
    const opened: string[] = [];
    const router = createRouter().onOpen(() => opened.push("opened"));
    router.accept(socket, data, { resumedTopics: ["a", "b"] });
    expect(opened).toEqual([]);
    expect(socket.frames).toEqual([]);
    expect(await router.publish("b", News, { n: 1 })).toEqual({ ok: true, matchedLocal: 1 });
    expect(socket.frames).toMatchObject([{ type: "NEWS", payload: { n: 1 } }]);
  });

  test("a frame dropped by the platform closes the connection with 1013 unless it was a publish", async () => {
    const socket = new CustomSocket();
    const router = adding().onOpen((ctx) => ctx.subscribe("t"));
    const events = router.accept(socket, data);
    socket.outcome = "dropped";
    expect(await router.publish("t", News, { n: 1 })).toMatchObject({ matchedLocal: 0 });
    expect(socket.closes).toEqual([]);
    events.receive('{"type":"ADD","meta":{"correlationId":"1"},"payload":{"n":1}}');
    expect(socket.closes.map(([code]) => code)).toEqual([1013]);
  });

  test("tooLarge calls onLimitExceeded, and both the peer and onClose receive the code 1009", () => {
    const socket = new CustomSocket();
    const closed: number[] = [];
    const observed: number[] = [];
    const router = createRouter()
      .onClose((ctx) => closed.push(ctx.code))
      .onLimitExceeded((info) => observed.push(info.observed));
    const events = router.accept(socket, data);
    events.tooLarge(5_000_000);
    events.closed(1006, "");
    expect(socket.closes.map(([code]) => code)).toEqual([1009]);
    expect(closed).toEqual([1009]);
    expect(observed).toEqual([5_000_000]);
  });
});

describe.each(libraries)("guide/pubsub: Custom pub/sub ($name)", ({ createRouter, message, number }) => {
  const News = message("NEWS", { n: number() });

  test("the router subscribes to a topic of the pub/sub only while the topic has local subscribers", async () => {
    const calls: string[] = [];
    class Recording extends MemoryPubSub {
      override subscribe(topic: string, subscriber: Subscriber): void {
        calls.push(`+${topic}`);
        super.subscribe(topic, subscriber);
      }
      override unsubscribe(topic: string, subscriber: Subscriber): void {
        calls.push(`-${topic}`);
        super.unsubscribe(topic, subscriber);
      }
    }
    const router = createRouter({ pubsub: new Recording() }).onOpen((ctx) => ctx.subscribe("t"));
    const server = createTestServer(router);
    const [one, two] = [await server.connect(), await server.connect()];
    await one.disconnect();
    expect(calls).toEqual(["+t"]);
    await two.disconnect();
    expect(calls).toEqual(["+t", "-t"]);
  });

  test("the pub/sub carries one opaque frame, serialised once, for all subscribers", async () => {
    const carried: [string, string][] = [];
    class Recording extends MemoryPubSub {
      override publish(...[topic, frame, options]: Parameters<MemoryPubSub["publish"]>) {
        carried.push([topic, frame]);
        return super.publish(topic, frame, options);
      }
    }
    const router = createRouter({ pubsub: new Recording() }).onOpen((ctx) => ctx.subscribe("room:ä/1"));
    const server = createTestServer(router);
    const peers = [await server.connect(), await server.connect()];
    await router.publish("room:ä/1", News, { n: 1 });
    expect(carried).toEqual([["room:ä/1", expect.stringContaining('"payload":{"n":1}')]]);
    for (const peer of peers) expect(framesOf(peer, "NEWS")).toEqual([JSON.parse(carried[0]?.[1] ?? "")]);
  });
});

describe.each(libraries)("guide/testing: Test server ($name)", ({ createRouter, rpc, number }) => {
  const Add = rpc("ADD", { n: number() }, "SUM", { n: number() });

  test("createTestServer(router, options?) returns connect(), clock and close()", async () => {
    const server = createTestServer(
      createRouter().rpc(Add, (ctx) => ctx.reply(Add.response, { n: ctx.payload.n + 1 })),
      { epoch: 1_000, context: { a: 1 } },
    );
    const peer = await server.connect();
    expect(server.clock.wall()).toBe(1_000);
    await server.clock.advance(50);
    expect(server.clock.wall()).toBe(1_050);
    expect(peer.frames[0]?.payload).toMatchObject({ clientId: expect.stringMatching(UUID_V7) });
    expect(await peer.request(Add, { n: 1 })).toEqual({ n: 2 });
    await server.close();
    expect(peer.closedWith?.code).toBe(1012);
  });
});
