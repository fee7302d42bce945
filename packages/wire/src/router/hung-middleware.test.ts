import { describe, expect, test } from "vitest";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";

const Ask = rpc("ASK", { n: z.number() }, "ANSWER", { n: z.number() });
const Say = message("SAY", { n: z.number() });
const never = (): Promise<never> => new Promise(() => undefined);

function hangingAt(hung: number) {
  const said: number[] = [];
  const seen: string[] = [];
  let release: () => void = () => undefined;
  let arrived = 0;
  const router = createRouter({ rpcTimeoutMs: 1_000 })
    .onError((error) => void seen.push(`${error.code}: ${error.message}`))
    .use(async (_ctx, next) => {
      if (++arrived === hung) await new Promise<void>((resolve) => (release = resolve));
      await next();
    })
    .rpc(Ask, (ctx) => ({ n: ctx.payload.n }))
    .on(Say, (ctx) => void said.push(ctx.payload.n));
  return { server: createTestServer(router), said, seen, release: () => release() };
}

describe("middleware that never settles", () => {
  test("fails its request at the deadline, and the messages behind it start", async () => {
    const { server, said } = hangingAt(1);
    const peer = await server.connect();
    await peer.send(Ask, { n: 1 }, { correlationId: "hung" });
    await peer.send(Ask, { n: 2 }, { correlationId: "behind", timeoutMs: 5_000 });
    await peer.send(Say, { n: 3 });
    await server.clock.advance(1_100);
    expect(peer.frames.slice(1)).toMatchObject([
      { meta: { correlationId: "hung" }, payload: { code: "DEADLINE_EXCEEDED" } },
      { meta: { correlationId: "behind" }, payload: { n: 2 } },
    ]);
    expect(said).toEqual([3]);
  });

  test("fails its event after rpcTimeoutMs, tells onError and the peer, and the messages behind it start", async () => {
    const { server, said, seen } = hangingAt(1);
    const peer = await server.connect();
    await peer.send(Say, { n: 1 });
    await peer.send(Say, { n: 2 });
    await server.clock.advance(900);
    expect(said).toEqual([]);
    await server.clock.advance(200);
    expect(said).toEqual([2]);
    expect(seen).toEqual([
      "DEADLINE_EXCEEDED: The middleware of SAY did not call next() within 1000 ms (rpcTimeoutMs). Call next() or ctx.error() in time.",
    ]);
    expect(peer.frames.slice(1)).toMatchObject([{ payload: { code: "DEADLINE_EXCEEDED" } }]);
  });

  test("does not run the handler when it calls next() after the deadline", async () => {
    const { server, said, release } = hangingAt(1);
    const peer = await server.connect();
    await peer.send(Say, { n: 1 });
    await server.clock.advance(1_100);
    release();
    await peer.send(Say, { n: 2 });
    expect(said).toEqual([2]);
  });

  test("holds up nothing once the caller has cancelled the request", async () => {
    const { server, said } = hangingAt(1);
    const peer = await server.connect();
    await peer.send(Ask, { n: 1 }, { correlationId: "hung" });
    await peer.send(Say, { n: 2 });
    await peer.sendRaw('{"type":"$ws:abort","meta":{"correlationId":"hung"}}');
    expect(said).toEqual([2]);
    await peer.send(Say, { n: 3 });
    expect(said).toEqual([2, 3]);
  });

  test("frees the place of its event, however many there are", async () => {
    const router = createRouter({ rpcTimeoutMs: 100, maxInflightRpcsPerSocket: 2 })
      .use(never)
      .on(Say, () => undefined);
    const server = createTestServer(router);
    const peer = await server.connect();
    for (let n = 0; n < 5; n++) {
      await peer.send(Say, { n });
      await server.clock.advance(200);
    }
    const codes = peer.frames.slice(1).map((frame) => (frame.payload as { code: string }).code);
    expect(codes).toEqual(Array(5).fill("DEADLINE_EXCEEDED"));
  });

  test("leaves no timer behind when it settles in time", async () => {
    const { server, release } = hangingAt(1);
    const peer = await server.connect();
    await peer.send(Say, { n: 1 });
    release();
    await peer.send(Say, { n: 2 });
    await server.clock.advance(20_000);
    expect(server.clock.pendingTimers).toBe(0);
  });
});

describe("next() called twice", () => {
  test.each([
    ["awaited", false, true],
    ["not awaited", false, false],
    ["not awaited, in asynchronous middleware", true, false],
  ])("is one error of its message, %s", async (_, isAsync, isAwaited) => {
    const seen: string[] = [];
    let handled = 0;
    const router = createRouter()
      .onError((error) => void seen.push(error.message))
      .use(async (_ctx, next) => {
        if (isAsync) await Promise.resolve();
        void next();
        if (isAwaited) await next();
        else void next();
      })
      .on(Say, () => void handled++);
    const peer = await createTestServer(router).connect();
    await peer.send(Say, { n: 1 });
    expect(handled).toBe(1);
    expect(seen).toEqual([
      "A middleware called next() twice for SAY. Call it once, and return or await its promise.",
    ]);
    expect(peer.frames.slice(1)).toMatchObject([{ payload: { code: "INTERNAL" } }]);
  });
});
