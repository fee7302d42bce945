import { describe, expect, test } from "vitest";
import type { Server } from "../router/server.ts";
import { FakeClock } from "../testing/fake-clock.ts";
import { TestConnection } from "../testing/test-connection.ts";
import { createRouter, message, rpc, z } from "../zod.ts";
import { drain } from "./drain.ts";

const Slow = rpc("SLOW", { ms: z.number() }, "DONE", undefined);
const Tell = message("TELL");

/** A server, its clock, and a way to connect. */
function createServer() {
  const clock = new FakeClock();
  const released: (() => void)[] = [];
  const router = createRouter()
    .use((ctx, next) =>
      ctx.type === "TELL" ? new Promise<void>((resolve) => released.push(resolve)).then(next) : next(),
    )
    .rpc(Slow, (ctx) => {
      clock.setTimeout(() => ctx.reply(Slow.response), ctx.payload.ms);
      return new Promise((resolve) => clock.setTimeout(() => resolve(undefined), ctx.payload.ms));
    })
    .on(Tell, () => undefined);
  const server: Server = router.attach({ clock });
  let ids = 0;
  const connect = (greets = true) =>
    new TestConnection((socket) => server.accept(socket, { clientId: `c${++ids}` }, { greets }));
  return { clock, server, connect, released };
}

/** Of a drain that is under way. */
function watch<T>(promise: Promise<T>): { readonly result: T | undefined } {
  const watched: { result: T | undefined } = { result: undefined };
  void promise.then((result) => {
    watched.result = result;
  });
  return watched;
}

describe("drain", () => {
  test("with nobody connected is done at once", async () => {
    const { server } = createServer();
    expect(await drain(server, 10_000)).toEqual({ forced: 0 });
  });

  test("tells each client its own time to come back, within the spread, and closes with the same", async () => {
    const { clock, server, connect } = createServer();
    const peers = Array.from({ length: 50 }, () => connect());
    let next = 0;
    const done = watch(drain(server, 10_000, () => next++ / 50));
    await clock.advance(2_000);
    expect(done.result).toEqual({ forced: 0 });
    const told = peers.map(({ frames }) => {
      const drained = frames.find(({ type }) => type === "$ws:drain");
      return (drained as { payload: { retryAfterMs: number } }).payload.retryAfterMs;
    });
    expect(new Set(told).size).toBe(50);
    expect(Math.max(...told)).toBeLessThan(100);
    expect(peers.map(({ closedWith }) => closedWith)).toEqual(
      told.map((ms) => ({ code: 1012, reason: `retryAfterMs=${ms}` })),
    );
  });

  test("waits for calls in flight, and for those that come while it waits", async () => {
    const { clock, server, connect } = createServer();
    const peer = connect();
    await peer.send(Slow, { ms: 3_000 }, { correlationId: "before" });
    const done = watch(drain(server, 10_000));
    await clock.advance(2_500);
    await peer.send(Slow, { ms: 2_000 }, { correlationId: "while" });
    await clock.advance(1_500);
    expect(peer.closedWith).toBeUndefined();
    await clock.advance(1_000);
    expect(peer.received(Slow.response)).toHaveLength(2);
    expect(peer.closedWith).toMatchObject({ code: 1012 });
    expect(done.result).toEqual({ forced: 0 });
  });

  test("waits for messages that have not even reached their handler", async () => {
    const { clock, server, connect, released } = createServer();
    const peer = connect();
    await peer.send(Tell);
    await peer.send(Tell);
    const done = watch(drain(server, 10_000));
    await clock.advance(3_000);
    expect(peer.closedWith).toBeUndefined();
    released[0]?.();
    await clock.advance(1_000);
    expect(peer.closedWith).toBeUndefined();
    released[1]?.();
    await clock.advance(100);
    expect(peer.closedWith).toMatchObject({ code: 1012 });
    expect(done.result).toEqual({ forced: 0 });
  });

  test("does not wait for event handlers: the one that ordered it may be waiting for its end", async () => {
    const clock = new FakeClock();
    const Stop = message("STOP");
    let done: unknown;
    const router = createRouter().on(Stop, async () => {
      done = await drain(server, 10_000);
    });
    const server: Server = router.attach({ clock });
    const peer = new TestConnection((socket) => server.accept(socket, { clientId: "c" }));
    await peer.send(Stop);
    await clock.advance(2_000);
    expect(done).toEqual({ forced: 0 });
  });

  test("waits until what was sent has left", async () => {
    const { clock, server, connect } = createServer();
    const peer = connect();
    peer.pause();
    await peer.send(Slow, { ms: 1 });
    const done = watch(drain(server, 10_000));
    await clock.advance(3_000);
    expect(peer.closedWith).toBeUndefined();
    await peer.resume();
    await clock.advance(100);
    expect(done.result).toEqual({ forced: 0 });
  });

  test("forces the rest at its deadline: answered UNAVAILABLE, closed and counted", async () => {
    const { clock, server, connect } = createServer();
    const [stuck, deaf, idle] = [connect(), connect(), connect()];
    await stuck.send(Slow, { ms: 60_000 }, { correlationId: "1", timeoutMs: 300_000 });
    deaf.pause();
    await deaf.sendRaw('{"type":"$ws:ping"}');
    const done = watch(drain(server, 5_000));
    await clock.advance(4_900);
    expect(idle.closedWith).toMatchObject({ code: 1012 });
    expect(stuck.closedWith).toBeUndefined();
    await clock.advance(200);
    expect(stuck.frames.at(-1)).toMatchObject({
      meta: { correlationId: "1" },
      payload: { code: "UNAVAILABLE" },
    });
    expect(deaf.closedWith).toMatchObject({ code: 1012 });
    expect(done.result).toEqual({ forced: 2 });
  });

  test("leaves a plain peer without control frames", async () => {
    const { clock, server, connect } = createServer();
    const plain = connect(false);
    const done = watch(drain(server, 10_000));
    await clock.advance(2_000);
    expect(plain.frames).toEqual([]);
    expect(plain.closedWith).toMatchObject({ code: 1012 });
    expect(done.result).toEqual({ forced: 0 });
  });
});
