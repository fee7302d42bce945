import { describe, expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { TestConnection } from "../../testing/test-connection.ts";
import { createRouter, message, rpc, z } from "../../zod.ts";
import type { Server } from "../contracts.ts";
import { drain } from "./drain.ts";

const Slow = rpc("SLOW", { ms: z.number() }, "DONE", undefined);
const Tell = message("TELL");

/** A server, its clock, and a function to connect. */
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

/** The result of a running drain. */
function watch<T>(promise: Promise<T>): { readonly result: T | undefined } {
  const watched: { result: T | undefined } = { result: undefined };
  void promise.then((result) => {
    watched.result = result;
  });
  return watched;
}

describe("drain", () => {
  test("resolves immediately without connections", async () => {
    const { server } = createServer();
    expect(await drain(server, 10_000)).toEqual({ forced: 0 });
  });

  test("sends each client its own delay within the spread and closes with the same delay", async () => {
    const { clock, server, connect } = createServer();
    const peers = Array.from({ length: 50 }, () => connect());
    let next = 0;
    const done = watch(drain(server, 10_000, () => next++ / 50));
    await clock.advance(2_000);
    expect(done.result).toEqual({ forced: 0 });
    const delays = peers.map(({ frames }) => {
      const drained = frames.find(({ type }) => type === "$ws:drain");
      return (drained as { payload: { retryAfterMs: number } }).payload.retryAfterMs;
    });
    expect(new Set(delays).size).toBe(50);
    expect(Math.max(...delays)).toBeLessThan(100);
    expect(peers.map(({ closedWith }) => closedWith)).toEqual(
      delays.map((ms) => ({ code: 1012, reason: `retryAfterMs=${ms}` })),
    );
  });

  test("waits for requests in flight and for those that arrive while it waits", async () => {
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

  test("waits for messages that have not reached their handler", async () => {
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

  test("waits for the answer of an event handler to an event with a correlation id, and counts one that is not sent in time", async () => {
    const clock = new FakeClock();
    const Ask = message("ASK", { ms: z.number() });
    const Answer = message("ANSWER");
    const router = createRouter().on(Ask, async (ctx) => {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, ctx.payload.ms));
      ctx.send(Answer, undefined, { inheritCorrelationId: true });
    });
    const server: Server = router.attach({ clock });
    const connect = (clientId: string) => new TestConnection((socket) => server.accept(socket, { clientId }));
    const [prompt, late] = [connect("a"), connect("b")];
    await prompt.send(Ask, { ms: 3_000 }, { correlationId: "1" });
    await late.send(Ask, { ms: 60_000 }, { correlationId: "1" });
    const done = watch(drain(server, 10_000));
    await clock.advance(2_900);
    expect(prompt.closedWith).toBeUndefined();
    await clock.advance(200);
    expect(prompt.frames.at(-1)).toMatchObject({ type: "ANSWER", meta: { correlationId: "1" } });
    expect(prompt.closedWith).toMatchObject({ code: 1012 });
    await clock.advance(10_000);
    expect(late.closedWith).toMatchObject({ code: 1012 });
    expect(done.result).toEqual({ forced: 1 });
  });

  test("does not wait for other event handlers, because one of them may wait for the drain", async () => {
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

  test("waits until sent frames have left", async () => {
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

  test("ends the rest at its deadline: requests receive UNAVAILABLE and the connections are closed and counted", async () => {
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

  test("starts no waiting request at its deadline: a retry would execute it twice", async () => {
    const clock = new FakeClock();
    const started: number[] = [];
    let arrived = 0;
    const router = createRouter()
      .use((_ctx, next) => (++arrived === 1 ? new Promise(() => undefined) : next()))
      .rpc(Slow, (ctx) => void started.push(ctx.payload.ms));
    const server: Server = router.attach({ clock });
    const peer = new TestConnection((socket) => server.accept(socket, { clientId: "c" }, { greets: true }));
    for (let n = 1; n <= 3; n++) await peer.send(Slow, { ms: n }, { correlationId: `${n}` });
    const done = watch(drain(server, 2_000));
    await clock.advance(3_000);
    expect(started).toEqual([]);
    expect(peer.frames.filter(({ type }) => type === "$ws:error")).toHaveLength(3);
    expect(done.result).toEqual({ forced: 1 });
  });

  test("sends no control frames to a plain peer", async () => {
    const { clock, server, connect } = createServer();
    const plain = connect(false);
    const done = watch(drain(server, 10_000));
    await clock.advance(2_000);
    expect(plain.frames).toEqual([]);
    expect(plain.closedWith).toMatchObject({ code: 1012 });
    expect(done.result).toEqual({ forced: 0 });
  });
});
