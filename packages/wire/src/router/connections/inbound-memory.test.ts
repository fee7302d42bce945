import { queryObjects } from "node:v8";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { createMetrics } from "../../middleware/index.ts";
import { createTestServer } from "../../testing/index.ts";
import { createRouter, message, rpc, z } from "../../zod.ts";
import type { Server } from "../contracts.ts";
import type { RouterOptions } from "../options.ts";
import { HeldMessages } from "./inbound-memory.ts";

const Work = rpc("WORK", { pad: z.string() }, "WORKED", undefined);
const Tell = message("TELL", { pad: z.string() });

const pad = (bytes: number) => ({ pad: "x".repeat(bytes) });
const REFUSED = { code: "RESOURCE_EXHAUSTED", retryAfterMs: 100 };

/** Handlers that a test left running would count in the next one. */
const unfinished: (() => void)[] = [];
afterEach(() => {
  for (const release of unfinished.splice(0)) release();
});

/** A server whose handlers wait until they are released, in order. */
function serve(options: RouterOptions = {}) {
  const metrics = createMetrics();
  const waiting: (() => void)[] = [];
  const wait = () => new Promise<void>((resolve) => waiting.push(resolve));
  const router = createRouter({ metrics, maxInboundBytesPerConnection: 1_000, ...options })
    .rpc(Work, async (ctx) => {
      await wait();
      ctx.reply(Work.response);
    })
    .on(Tell, wait);
  const figure = (name: string) =>
    Number(new RegExp(`^halyard_wire_${name} (\\d+)$`, "m").exec(metrics.toPrometheus())?.[1]);
  const release = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  unfinished.push(release);
  return { router, server: createTestServer(router), waiting, release, figure };
}

describe("the bytes of a connection's messages being handled", () => {
  test("are limited: further requests and events get RESOURCE_EXHAUSTED until earlier ones have finished", async () => {
    const { server, waiting, release, figure } = serve();
    const peer = await server.connect();
    await peer.send(Work, pad(400), { correlationId: "1" });
    await peer.send(Tell, pad(400));
    await expect(peer.request(Work, pad(400))).rejects.toMatchObject(REFUSED);
    await peer.send(Tell, pad(400));
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:error", payload: REFUSED });
    expect(waiting).toHaveLength(2);
    expect(figure("inbound_bytes")).toBeGreaterThan(800);
    expect(figure("refused_inbound_total")).toBe(2);
    release();
    await server.clock.advance(0);
    await peer.send(Work, pad(400), { correlationId: "2" });
    expect(waiting).toHaveLength(1);
    release();
    await server.clock.advance(0);
    expect(figure("inbound_bytes")).toBe(0);
  });

  test("may be exceeded by one message while no other is held", async () => {
    const { server, release } = serve();
    const peer = await server.connect();
    const large = peer.request(Work, pad(5_000));
    await server.clock.advance(0);
    await expect(peer.request(Work, pad(10))).rejects.toMatchObject(REFUSED);
    release();
    await large;
  });

  test("include messages that wait for onAuth, and those of a refused peer are freed", async () => {
    const { router, server, figure } = serve();
    let decide: (admitted: boolean) => void = () => undefined;
    router.onAuth(() => new Promise((resolve) => (decide = resolve)));
    const peer = await server.connect();
    for (let n = 0; n < 10; n++) await peer.send(Tell, pad(400));
    expect(peer.frames.filter(({ type }) => type === "$ws:error")).toHaveLength(8);
    decide(false);
    await server.clock.advance(0);
    expect(peer.closedWith).toMatchObject({ code: 4401 });
    expect(figure("inbound_bytes")).toBe(0);
  });

  test("do not count pings and aborts, so that a peer at its limit can free itself", async () => {
    const { server, waiting, release } = serve();
    const peer = await server.connect();
    await peer.send(Work, pad(900), { correlationId: "1" });
    await peer.sendRaw(`{"type":"$ws:ping","payload":"${"x".repeat(200)}"}`);
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:pong" });
    await peer.sendRaw('{"type":"$ws:abort","meta":{"correlationId":"1"}}');
    expect(peer.frames.at(-1)).toMatchObject({ payload: { code: "CANCELLED" } });
    // The handler ignores the abort and still has the payload.
    await expect(peer.request(Work, pad(400))).rejects.toMatchObject(REFUSED);
    release();
    await server.clock.advance(0);
    await peer.send(Work, pad(400));
    expect(waiting).toHaveLength(1);
  });

  test("count until the handler has finished, even after its response", async () => {
    const { router, server } = serve();
    let finish: () => void = () => undefined;
    const Early = rpc("EARLY", { pad: z.string() }, "EARLY_OK", undefined);
    router.rpc(Early, async (ctx) => {
      ctx.reply(Early.response);
      await new Promise<void>((resolve) => (finish = resolve));
    });
    const peer = await server.connect();
    await peer.request(Early, pad(800));
    await expect(peer.request(Early, pad(800))).rejects.toMatchObject(REFUSED);
    finish();
    await server.clock.advance(0);
    await peer.request(Early, pad(800));
    finish();
  });

  test.each([
    { what: "a request", send: Work },
    { what: "an event", send: Tell },
  ])("stop counting at the deadline of $what whose handler never finishes", async ({ send }) => {
    const { server, waiting } = serve({ rpcTimeoutMs: 5_000 });
    const peer = await server.connect();
    await peer.send(send, pad(800));
    await server.clock.advance(4_000);
    await peer.send(send, pad(800));
    expect(waiting).toHaveLength(1);
    await server.clock.advance(2_000);
    await peer.send(send, pad(800));
    expect(waiting).toHaveLength(2);
  });
});

test("the bytes of a request count until rpcTimeoutMs although its peer gave it a shorter deadline", async () => {
  const { server, waiting } = serve({ rpcTimeoutMs: 5_000 });
  const peer = await server.connect();
  await peer.send(Work, pad(800), { timeoutMs: 1 });
  await server.clock.advance(2_000);
  expect(peer.frames.at(-1)).toMatchObject({ payload: { code: "DEADLINE_EXCEEDED" } });
  await expect(peer.request(Work, pad(800))).rejects.toMatchObject(REFUSED);
  expect(waiting).toHaveLength(1);
});

test("the bytes of a message that waits for its turn count for as long as it waits", async () => {
  const { router, server } = serve({ rpcTimeoutMs: 5_000 });
  const Next = message("NEXT", { pad: z.string() });
  const hang = () => new Promise<void>((resolve) => unfinished.push(resolve));
  router.use((ctx, next) => (ctx.type === "TELL" ? hang() : next())).on(Next, () => undefined);
  const peer = await server.connect();
  await peer.send(Tell, pad(10));
  await peer.send(Tell, pad(10));
  await peer.send(Next, pad(800));
  // The first message has failed at its deadline, the second one blocks.
  await server.clock.advance(6_000);
  const before = peer.frames.length;
  await peer.send(Next, pad(800));
  expect(peer.frames[before]).toMatchObject({ payload: REFUSED });
});

test("a connection that its own handler closed leaves nothing in memory once the handler has finished", async () => {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const router = createRouter().on(Tell, (ctx) => {
    ctx.ws.close(1000);
    return finished;
  });
  const server: Server = router.attach();
  const before = queryObjects(HeldMessages, { format: "count" });
  for (let n = 0; n < 10; n++) {
    // As on Bun, whose sockets report their close before `close` returns.
    const close = (code: number, reason: string) => connection.closed(code, reason);
    const socket = { bufferedBytes: 0, send: () => "sent" as const, close };
    const connection = server.accept(socket, { clientId: `${n}` }, { greets: false });
    connection.receive(JSON.stringify({ type: Tell.type, payload: pad(10) }));
  }
  expect(queryObjects(HeldMessages, { format: "count" })).toBe(before + 10);
  finish();
  await new Promise((resolve) => setImmediate(resolve));
  // The engine may still refer to the last one.
  expect(queryObjects(HeldMessages, { format: "count" })).toBeLessThanOrEqual(before + 1);
  await server.stop();
});

describe("the bytes of all messages being handled in a process", () => {
  test("stop counting at their deadline also when another server needs the room", async () => {
    const options = { processInboundBudgetBytes: 1_000, rpcTimeoutMs: 5_000 };
    const [first, second] = [serve(options), serve(options)];
    const [ada, ben] = [await first.server.connect(), await second.server.connect()];
    await ada.send(Work, pad(900));
    await expect(ben.request(Work, pad(900))).rejects.toMatchObject(REFUSED);
    await first.server.clock.advance(6_000);
    await second.server.clock.advance(6_000);
    await ben.send(Work, pad(900));
    expect(second.waiting).toHaveLength(1);
  });

  test("are limited over all servers; handlers of a peer that left count until they finish", async () => {
    const options = { processInboundBudgetBytes: 2_500 };
    const [first, second] = [serve(options), serve(options)];
    const [ada, ben] = [await first.server.connect(), await second.server.connect()];
    await ada.send(Work, pad(900));
    await ben.send(Work, pad(900));
    const cleo = await first.server.connect();
    await expect(cleo.request(Work, pad(900))).rejects.toMatchObject({
      ...REFUSED,
      message: "The server has no memory left for messages (processInboundBudgetBytes). Retry later.",
    });
    await ben.disconnect();
    await expect(cleo.request(Work, pad(900))).rejects.toMatchObject(REFUSED);
    second.release();
    await second.server.clock.advance(0);
    const answer = cleo.request(Work, pad(900));
    await first.server.clock.advance(0);
    first.release();
    await answer;
    expect([first.figure("inbound_bytes"), second.figure("inbound_bytes")]).toEqual([0, 0]);
  });

  test("return to zero, whatever order messages, aborts, deadlines, responses and disconnects come in", async () => {
    const step = fc.oneof(
      fc.record({ send: fc.constantFrom(Work, Tell), bytes: fc.integer({ min: 0, max: 600 }) }),
      fc.record({ release: fc.nat(5) }),
      fc.record({ abort: fc.nat(10) }),
      fc.constantFrom("disconnect" as const, "wait" as const, "block" as const, "unblock" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { router, server, waiting, release, figure } = serve({ rpcTimeoutMs: 1_000 });
        let unblock: (() => void)[] = [];
        let isBlocking = false;
        router.use((_, next) =>
          isBlocking ? new Promise<void>((resolve) => unblock.push(resolve)).then(next) : next(),
        );
        let peer = await server.connect();
        let sent = 0;
        for (const action of steps) {
          if (action === "disconnect") {
            await peer.disconnect();
            peer = await server.connect();
          } else if (action === "wait") await server.clock.advance(600);
          else if (action === "block") isBlocking = true;
          else if (action === "unblock") {
            isBlocking = false;
            for (const resolve of unblock.splice(0)) resolve();
            await server.clock.advance(0);
          } else if ("send" in action)
            await peer.send(action.send, pad(action.bytes), { correlationId: `${sent++}` });
          else if ("release" in action) {
            for (const resolve of waiting.splice(action.release, 1)) resolve();
            await server.clock.advance(0);
          } else await peer.sendRaw(`{"type":"$ws:abort","meta":{"correlationId":"${action.abort}"}}`);
          expect(figure("inbound_bytes")).toBeGreaterThanOrEqual(0);
        }
        isBlocking = false;
        // Each message that is unblocked may let another one reach the middleware.
        while (unblock.length > 0 || waiting.length > 0) {
          for (const resolve of unblock.splice(0)) resolve();
          release();
          await server.clock.advance(0);
        }
        unblock = [];
        await server.clock.advance(0);
        expect(figure("inbound_bytes")).toBe(0);
        await server.close();
      }),
      { numRuns: 200 },
    );
  });
});
