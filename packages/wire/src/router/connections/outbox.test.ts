import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { createTestServer } from "../../testing/index.ts";
import { createRouter, message, rpc, z } from "../../zod.ts";
import type { SendOutcome, Socket } from "./peer.ts";

const Join = message("JOIN");
const Noted = message("NOTED", { n: z.number(), pad: z.string() });
const Tell = message("TELL", { waitFor: z.enum(["drain", "ack"]) });

const LIMIT_BYTES = 1_000;

function serve(signal?: AbortSignal) {
  const outcomes: boolean[] = [];
  const router = createRouter({ socketBufferLimitBytes: LIMIT_BYTES, slowConsumerTimeoutMs: 5_000 })
    .on(Join, (ctx) => ctx.subscribe("news"))
    .on(Tell, async (ctx) => {
      const { waitFor } = ctx.payload;
      outcomes.push(
        await ctx.send(Noted, { n: 0, pad: "" }, { waitFor, ...(signal !== undefined && { signal }) }),
      );
    });
  const publish = (n: number, bytes = 200) => router.publish("news", Noted, { n, pad: "x".repeat(bytes) });
  return { router, server: createTestServer(router), publish, outcomes };
}

describe("a publish to a peer that reads irregularly", () => {
  test("arrives without a gap, or a gap is announced before the next message", async () => {
    const step = fc.oneof(
      fc.record({ publish: fc.integer({ min: 1, max: 8 }) }),
      fc.constant("pause" as const),
      fc.constant("resume" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { server, publish } = serve();
        const peer = await server.connect();
        await peer.send(Join);
        let published = 0;
        let handed = 0;
        for (const action of steps) {
          if (action === "pause") peer.pause();
          else if (action === "resume") await peer.resume();
          else {
            for (let i = 0; i < action.publish; i++) {
              const result = await publish(published++);
              if (result.ok) handed += result.matchedLocal ?? 0;
            }
          }
        }
        await peer.resume();
        let next = 0;
        let announced = false;
        for (const { type, payload } of peer.frames) {
          if (type === "$ws:gap") announced = true;
          if (type !== "NOTED") continue;
          const { n } = payload as { n: number };
          expect(n === next || announced, `${n} came after ${next - 1} without a gap`).toBe(true);
          next = n + 1;
          announced = false;
        }
        expect(next === published || announced).toBe(true);
        // The messages counted as delivered are exactly those that arrived.
        expect(peer.received(Noted)).toHaveLength(handed);
        expect(peer.closedWith).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  test("causes no gap announcement when nothing was lost", async () => {
    const { server, publish } = serve();
    const peer = await server.connect();
    await peer.send(Join);
    for (let n = 0; n < 100; n++) {
      peer.pause();
      await publish(n);
      await peer.resume();
    }
    expect(peer.received(Noted)).toHaveLength(100);
    expect(peer.frames.map(({ type }) => type)).not.toContain("$ws:gap");
  });

  test("closes a peer that stays slow, and does not affect one that catches up", async () => {
    const { server, publish } = serve();
    const [stuck, late] = [await server.connect(), await server.connect()];
    for (const peer of [stuck, late]) {
      await peer.send(Join);
      peer.pause();
    }
    for (let n = 0; n < 10; n++) await publish(n);
    await server.clock.advance(4_000);
    await late.resume();
    await server.clock.advance(2_000);
    expect(stuck.closedWith).toMatchObject({ code: 1013 });
    expect(late.closedWith).toBeUndefined();
  });
});

/** A socket whose peer reads as many bytes as the test says. */
class SlowSocket implements Socket {
  bufferedBytes = 0;
  sentBytes = 0;
  outcome: "queued" | "sent" | "closed" = "queued";
  closedWith: number | undefined;

  send(frame: string): SendOutcome | "closed" {
    if (this.outcome === "queued") this.bufferedBytes += frame.length;
    return this.outcome;
  }

  close(code: number): void {
    this.closedWith = code;
  }

  /** The system has taken bytes, also of a write that is not finished. */
  read(bytes: number): void {
    this.sentBytes += bytes;
  }
}

describe("a platform that does not report that its buffer was emptied", () => {
  /** A peer that has missed a message and read the ones before it. */
  async function caughtUp() {
    const { router, publish, outcomes } = serve();
    const clock = new FakeClock();
    const server = router.attach({ clock });
    const socket = new SlowSocket();
    const frames: string[] = [];
    const send = socket.send.bind(socket);
    socket.send = (frame) => {
      frames.push((JSON.parse(frame) as { type: string }).type);
      return send(frame);
    };
    const connection = server.accept(socket, { clientId: "c" }, { greets: true });
    connection.receive('{"type":"JOIN"}');
    for (let n = 0; n < 10; n++) await publish(n);
    connection.receive('{"type":"TELL","payload":{"waitFor":"drain"}}');
    expect(frames).not.toContain("$ws:gap");
    socket.bufferedBytes = 0;
    return { clock, connection, socket, frames, outcomes };
  }

  test("announces the gap, and resolves what waits, when the peer is checked next", async () => {
    const { clock, frames, outcomes } = await caughtUp();
    await clock.advance(1_300);
    expect(frames.at(-1)).toBe("$ws:gap");
    expect(outcomes).toEqual([true]);
  });

  test("announces the gap when the next frame is sent at once", async () => {
    const { connection, socket, frames } = await caughtUp();
    socket.outcome = "sent";
    connection.receive('{"type":"$ws:ping"}');
    expect(frames.slice(-2)).toEqual(["$ws:pong", "$ws:gap"]);
  });
});

describe("a peer that has more unsent bytes than allowed", () => {
  function connect(options: { maxOutboundFrameBytes?: number } = {}) {
    const clock = new FakeClock();
    const closes: number[] = [];
    const Send = message("SEND", { bytes: z.number() });
    const router = createRouter({
      socketBufferLimitBytes: LIMIT_BYTES,
      slowConsumerTimeoutMs: 4_000,
      ...options,
    })
      .on(Send, (ctx) => ctx.send(Noted, { n: 0, pad: "x".repeat(ctx.payload.bytes) }))
      .onClose(({ code }) => closes.push(code));
    const server = router.attach({ clock });
    const socket = new SlowSocket();
    const connection = server.accept(socket, { clientId: "c" }, { greets: false });
    const send = (bytes: number) => connection.receive(`{"type":"SEND","payload":{"bytes":${bytes}}}`);
    return { clock, closes, connection, socket, send };
  }

  test("is closed with 1013 when it has read nothing for slowConsumerTimeoutMs, and not while it reads", async () => {
    const { clock, socket, send } = connect();
    send(1_200);
    for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 1_000) {
      socket.read(1);
      await clock.advance(1_000);
    }
    expect(socket.closedWith).toBeUndefined();
    // It read last a second ago, and is checked four times per timeout.
    await clock.advance(2_900);
    expect(socket.closedWith).toBeUndefined();
    await clock.advance(1_200);
    expect(socket.closedWith).toBe(1013);
  });

  test("counts as reading when the platform reports that bytes were sent", async () => {
    const { clock, connection, socket, send } = connect();
    send(1_200);
    for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 1_000) {
      connection.drained();
      await clock.advance(1_000);
    }
    expect(socket.closedWith).toBeUndefined();
    await clock.advance(5_000);
    expect(socket.closedWith).toBe(1013);
  });

  test("is closed at once above twice the limit, by several messages", () => {
    const { socket, send } = connect();
    send(900);
    send(900);
    expect(socket.closedWith).toBeUndefined();
    send(900);
    expect(socket.closedWith).toBe(1013);
  });

  test("is not closed by one large message that was sent while none was waiting, nor by some behind it", () => {
    const { socket, send } = connect();
    send(50_000);
    send(900);
    send(900);
    expect(socket.closedWith).toBeUndefined();
    send(900);
    expect(socket.closedWith).toBe(1013);
  });

  test("may not have more behind a large message when part of the large one was sent", () => {
    const { socket, send } = connect();
    send(50_000);
    socket.bufferedBytes -= 49_000;
    send(900);
    send(900);
    expect(socket.closedWith).toBeUndefined();
    send(900);
    expect(socket.closedWith).toBe(1013);
  });

  test("is closed by a large message that was sent while others were waiting", () => {
    const { socket, send } = connect();
    send(10);
    send(50_000);
    expect(socket.closedWith).toBe(1013);
  });

  test("is reported with its own close code when it has left before a message to it", () => {
    const { closes, connection, socket, send } = connect();
    socket.outcome = "closed";
    send(10);
    expect(socket.closedWith).toBeUndefined();
    connection.closed(1000, "bye");
    expect(closes).toEqual([1000]);
  });
});

describe("a message above maxOutboundFrameBytes", () => {
  const Get = rpc("GET", { text: z.string() }, "GOT", { text: z.string() });
  const options = { maxOutboundFrameBytes: 1_000 };

  test("is counted in bytes, fails its request, and reaches onError", async () => {
    const errors: string[] = [];
    const router = createRouter(options)
      .rpc(Get, (ctx) => ctx.reply(Get.response, ctx.payload))
      .onError((error, { type }) => void errors.push(`${type}: ${error.code}`));
    const peer = await createTestServer(router).connect();
    await peer.request(Get, { text: "x".repeat(800) });
    await expect(peer.request(Get, { text: "€".repeat(400) })).rejects.toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      retryable: false,
      message: expect.stringMatching(
        /^The message GOT has 1\d{3} bytes, which is above maxOutboundFrameBytes \(1000\)\. Send it in parts, or raise that router option\.$/,
      ),
    });
    expect(errors).toEqual(["GET: RESOURCE_EXHAUSTED"]);
    expect(peer.closedWith).toBeUndefined();
  });

  test("is not published, the result says why, and without onError the log does too", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    onTestFinished(() => log.mockRestore());
    const router = createRouter(options);
    const message = expect.stringContaining("which is above maxOutboundFrameBytes (1000)");
    expect(await router.publish("news", Noted, { n: 1, pad: "x".repeat(1_000) })).toMatchObject({
      ok: false,
      error: "VALIDATION",
      retryable: false,
      details: { message },
    });
    expect(log.mock.calls).toEqual([['[halyard] "NOTED" failed:', expect.objectContaining({ message })]]);
  });

  test("never includes frames of the protocol itself", async () => {
    const router = createRouter({ maxOutboundFrameBytes: 1 });
    const peer = await createTestServer(router).connect();
    expect(peer.frames[0]).toMatchObject({ type: "$ws:hello" });
  });
});

describe("the signal of a send", () => {
  test("ends the wait with false when it is aborted, and keeps no listener after the wait", async () => {
    const controller = new AbortController();
    const { server, outcomes } = serve(controller.signal);
    const peer = await server.connect();
    for (let i = 0; i < 20; i++) {
      await peer.send(Tell, { waitFor: "ack" });
      const sync = peer.frames.findLast(({ type }) => type === "$ws:sync");
      await peer.sendRaw(JSON.stringify({ type: "$ws:synced", payload: sync?.payload }));
    }
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => true));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    await peer.send(Tell, { waitFor: "ack" });
    controller.abort();
    await server.clock.advance(0);
    expect(outcomes.at(-1)).toBe(false);
  });
});
