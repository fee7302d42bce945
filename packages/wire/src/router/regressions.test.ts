import { expect, test, vi } from "vitest";
import { serve } from "../adapters/node.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";

const Call = rpc("CALL", { n: z.number() }, "CALL_OK", { n: z.number() });
const Note = message("NOTE", { n: z.number() });

const later = (turns: number): Promise<void> =>
  turns === 0 ? Promise.resolve() : Promise.resolve().then(() => later(turns - 1));

test("handlers start in order of arrival when onAuth and a middleware are both asynchronous", async () => {
  const started: number[] = [];
  const router = createRouter()
    .onAuth(async () => {
      await later(3);
      return true;
    })
    .use(async (ctx, next) => {
      await later(ctx.meta.timestamp === 1 ? 9 : 1);
      await next();
    })
    .on(Note, (ctx) => started.push(ctx.payload.n));
  const peer = await createTestServer(router).connect();
  await Promise.all([1, 2, 3].map((n) => peer.send(Note, { n }, { timestamp: n })));
  await vi.waitUntil(() => started.length === 3);
  expect(started).toEqual([1, 2, 3]);
});

test("a refused frame never ends a request in flight whose correlationId it carries", async () => {
  let answer: (() => void) | undefined;
  const router = createRouter().rpc(Call, (ctx) => {
    answer = () => ctx.reply(Call.response, { n: ctx.payload.n });
    return new Promise(() => undefined);
  });
  const peer = await createTestServer(router).connect();
  await peer.send(Call, { n: 1 }, { correlationId: "x" });
  await peer.sendRaw('{"type":"CALL","meta":{"correlationId":"x"},"payload":{"n":"bad"}}');
  await peer.sendRaw('{"type":"UNKNOWN","meta":{"correlationId":"x"}}');
  await peer.sendRaw('{"type":"$ws:nope","meta":{"correlationId":"x"}}');
  await peer.sendRaw('{"type":"CALL","meta":{"correlationId":"x"},"payload":{"n":1},"extra":1}');
  answer?.();
  const withId = peer.frames.filter((frame) => frame.meta["correlationId"] === "x");
  expect(withId.map((frame) => frame.type)).toEqual(["CALL_OK"]);
  expect(peer.frames.filter((frame) => frame.type === "$ws:error")).toHaveLength(4);
});

test("a reply is sent although its signal is aborted", async () => {
  const router = createRouter().rpc(Call, async (ctx) => {
    const arrived = await ctx.reply(
      Call.response,
      { n: 1 },
      { signal: AbortSignal.abort(), waitFor: "drain" },
    );
    expect(arrived).toBe(false);
  });
  const peer = await createTestServer(router).connect();
  expect(await peer.request(Call, { n: 1 })).toEqual({ n: 1 });
});

test("a server may be stopped twice, and both calls resolve", async () => {
  const server = createRouter().attach();
  const { connect } = createTestServer(createRouter());
  await connect();
  await Promise.all([server.stop(), server.stop()]);
  const other = createTestServer(createRouter());
  await other.connect();
  await Promise.all([other.close(), other.close()]);
});

test("an asynchronous onCancel callback that fails reaches onError and has no other effect", async () => {
  const errors: string[] = [];
  const router = createRouter()
    .onError((error) => {
      errors.push(error.message);
    })
    .rpc(Call, (ctx) => {
      ctx.onCancel(async () => {
        throw new Error("rollback failed");
      });
      return new Promise(() => undefined);
    });
  const peer = await createTestServer(router).connect();
  await peer.send(Call, { n: 1 }, { correlationId: "x" });
  await peer.sendRaw('{"type":"$ws:abort","meta":{"correlationId":"x"}}');
  await vi.waitUntil(() => errors.length > 0);
  expect(errors).toEqual(["rollback failed"]);
});

test("a failing pub/sub gives a result, and its failure at close does not prevent onClose", async () => {
  const closed: number[] = [];
  const seen: string[] = [];
  const pubsub = {
    subscribe: () => undefined,
    unsubscribe: () => {
      throw new Error("gone");
    },
    publish: () => Promise.reject(new Error("gone")),
    close: () => undefined,
  };
  const router = createRouter({ pubsub })
    .onClose((ctx) => closed.push(ctx.code))
    .rpc(Call, async (ctx) => {
      await ctx.subscribe("t");
      const result = await ctx.publish("t", Note, { n: 1 });
      seen.push(result.ok ? "ok" : result.error);
      ctx.reply(Call.response, { n: 1 });
    });
  const peer = await createTestServer(router, { onError: () => undefined }).connect();
  await peer.request(Call, { n: 1 });
  await peer.disconnect(4000);
  expect(seen).toEqual(["DISCONNECTED"]);
  expect(closed).toEqual([4000]);
});

test("a refused asynchronous subscribe without await sends no frame", async () => {
  const router = createRouter({ authorizeTopic: async () => false })
    .onError(() => undefined)
    .on(Note, (ctx) => void ctx.subscribe("secret"));
  const peer = await createTestServer(router).connect();
  await peer.send(Note, { n: 1 });
  expect(peer.frames.map((frame) => frame.type)).toEqual(["$ws:hello"]);
});

test("a token check that finishes after the connection closed leaves no timer", async () => {
  let finish: ((data: { expiresAt: number }) => void) | undefined;
  const server = createTestServer(createRouter(), {
    refresh: () =>
      new Promise((resolve) => {
        finish = resolve as typeof finish;
      }),
  });
  const peer = await server.connect();
  await peer.sendRaw('{"type":"$ws:auth","payload":{"token":"t"}}');
  await peer.disconnect();
  finish?.({ expiresAt: server.clock.wall() + 3_600_000 });
  await server.clock.advance(100);
  expect(server.clock.pendingTimers).toBe(0);
});

test("one large publish to a peer that stops reading closes it after slowConsumerTimeoutMs", async () => {
  const Big = message("BIG", { text: z.string() });
  const router = createRouter({ socketBufferLimitBytes: 1_000, slowConsumerTimeoutMs: 5_000 }).on(
    Note,
    (ctx) => ctx.subscribe("t"),
  );
  const server = createTestServer(router);
  const peer = await server.connect();
  await peer.send(Note, { n: 1 });
  peer.pause();
  await router.publish("t", Big, { text: "x".repeat(1_500) });
  await server.clock.advance(4_900);
  expect(peer.closedWith).toBeUndefined();
  await server.clock.advance(200);
  expect(peer.closedWith).toMatchObject({ code: 1013 });
});

test("messages dropped for a slow reader are counted", async () => {
  const router = createRouter({ socketBufferLimitBytes: 10 }).on(Note, (ctx) => ctx.subscribe("t"));
  const server = router.attach();
  const socket = { bufferedBytes: 0, send: () => "queued" as const, close: () => undefined };
  const connection = server.accept(socket, { clientId: "c" }, { greets: false });
  connection.receive('{"type":"NOTE","payload":{"n":1}}');
  socket.bufferedBytes = 15;
  expect(await router.publish("t", Note, { n: 2 })).toEqual({ ok: true, matchedLocal: 0 });
  expect(server.counters).toEqual({
    shed: 1,
    overBudget: 0,
    droppedProgress: 0,
    shedGaps: 0,
    busGaps: 0,
    refusedUpgrades: 0,
    refusedInbound: 0,
  });
  connection.closed(1000, "");
});

test("a handler stops although an authenticate never settles, and its handle has the counters", async () => {
  const handle = await serve(createRouter(), {
    port: 0,
    host: "127.0.0.1",
    authenticate: () => new Promise(() => undefined),
  });
  const socket = new WebSocket(`ws://127.0.0.1:${handle.port}`);
  // On Node 22 a failed attempt has no close event.
  const ended = new Promise((resolve) => socket.addEventListener("error", resolve));
  await vi.waitUntil(async () => (await fetch(`http://127.0.0.1:${handle.port}`)).status === 426);
  expect(handle.counters).toEqual({
    shed: 0,
    overBudget: 0,
    droppedProgress: 0,
    shedGaps: 0,
    busGaps: 0,
    refusedUpgrades: 0,
    refusedInbound: 0,
  });
  await handle.stop();
  await ended;
});
