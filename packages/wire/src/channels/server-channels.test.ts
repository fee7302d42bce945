import { uuidv7 } from "@halyard/base";
import { describe, expect, test, vi } from "vitest";
import type { RouterOptions } from "../router/options.ts";
import { settle } from "../testing/fake-clock.ts";
import type { TestConnection, TestFrame } from "../testing/index.ts";
import { createTestServer } from "../testing/index.ts";
import { channel, createRouter, message, rpc, z } from "../zod.ts";
import type { ChannelVerdict } from "./handlers.ts";

interface Data {
  readonly clientId: string;
  readonly userId: string;
}

const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", { params: { id: z.string().max(64) }, events: [Said] });
const Other = message("OTHER", { text: z.string() });

interface Setup {
  readonly authorize?: (
    ctx: { readonly data: Data },
    params: { id: string },
  ) => ChannelVerdict | Promise<ChannelVerdict>;
  readonly options?: RouterOptions<Data>;
}

function serve({ authorize = () => true, options = {} }: Setup = {}) {
  const log: string[] = [];
  const errors: string[] = [];
  const router = createRouter<Data>(options)
    .channel(Room, {
      authorize,
      onJoin: (ctx, { id }) => void log.push(`${ctx.data.userId} joined ${id}`),
      onLeave: (ctx, { id }) => void log.push(`${ctx.data.userId} left ${id}`),
    })
    .onError((error) => void errors.push(error.code));
  const server = createTestServer(router);
  const say = (text: string, id = "a") => router.to(Room, { id }).publish(Said, { text });
  const connect = (userId = "ann") => server.connect({ data: { userId } });
  return { router, server, log, errors, say, connect };
}

/** Sends a control frame and resolves to the response, if it arrived at once. */
async function call(peer: TestConnection, type: string, payload?: unknown): Promise<TestFrame | undefined> {
  const correlationId = uuidv7();
  await peer.sendRaw(JSON.stringify({ type, meta: { correlationId }, payload }));
  return answerTo(peer, correlationId);
}

const answerTo = (peer: TestConnection, id: string) =>
  peer.frames.find(({ meta }) => meta["correlationId"] === id);
const join = (peer: TestConnection, id = "a", more: object = {}) =>
  call(peer, "$ws:join", { channel: "room:{id}", params: { id }, ...more });
const leave = (peer: TestConnection, id = "a") =>
  call(peer, "$ws:leave", { channel: "room:{id}", params: { id } });
const texts = (peer: TestConnection) => peer.received(Said).map(({ text }) => text);
const left = (peer: TestConnection) =>
  peer.frames.filter(({ type }) => type === "$ws:left").map(({ payload }) => payload);

function gate<T>() {
  let open: (value: T) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

describe("a join", () => {
  test("is answered with the topic, which is in the meta of the channel's messages", async () => {
    const { connect, say } = serve();
    const peer = await connect();
    const answer = await join(peer, "a/b");
    expect(answer).toMatchObject({ type: "$ws:joined", payload: { topic: "$c/room:*/a%2Fb" } });
    await say("hi", "a/b");
    expect(peer.frames.at(-1)).toMatchObject({ type: "SAID", meta: { $t: "$c/room:*/a%2Fb" } });
  });

  test.each([
    ["another type", { id: 5 }],
    ["a missing parameter", {}],
    ["a further parameter", { id: "a", more: "b" }],
    ["a list", ["a"]],
    ["nothing", undefined],
    ["a nested value", { id: { deep: "a" } }],
    ["a very long value", { id: "x".repeat(5_000) }],
    ["a lone surrogate", { id: "\ud800" }],
  ])("with %s as parameters is refused before authorize runs", async (_, params) => {
    const authorize = vi.fn(() => true);
    const { connect } = serve({ authorize });
    const answer = await call(await connect(), "$ws:join", { channel: "room:{id}", params });
    expect(answer).toMatchObject({ type: "$ws:error", payload: { code: "INVALID_ARGUMENT" } });
    expect(authorize).not.toHaveBeenCalled();
  });

  test.each([
    ["a value that does not fit", { id: "x".repeat(65) }, /"room:\{id\}".*: id: /],
    ["an unknown parameter", { id: "a", di: "b" }, /"room:\{id\}".*"di"/],
  ])("with %s is told which parameter it is", async (_, params, message) => {
    const { connect } = serve();
    const answer = await call(await connect(), "$ws:join", { channel: "room:{id}", params });
    expect(answer?.payload).toMatchObject({ message: expect.stringMatching(message) });
  });

  test("of a channel that is not registered is answered with NOT_FOUND", async () => {
    const { connect } = serve();
    const answer = await call(await connect(), "$ws:join", { channel: "vault:{id}", params: { id: "a" } });
    expect(answer?.payload).toMatchObject({ code: "NOT_FOUND" });
  });

  test("without a correlation id is refused", async () => {
    const { connect } = serve();
    const peer = await connect();
    await peer.sendRaw(
      JSON.stringify({ type: "$ws:join", payload: { channel: "room:{id}", params: { id: "a" } } }),
    );
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:error", payload: { code: "INVALID_ARGUMENT" } });
  });

  test("that authorize refuses gets PERMISSION_DENIED, and the connection gets nothing", async () => {
    const { connect, say, log } = serve({ authorize: () => false });
    const peer = await connect();
    const answer = await join(peer);
    expect(answer?.payload).toMatchObject({ code: "PERMISSION_DENIED" });
    await say("secret");
    expect([texts(peer), log]).toEqual([[], []]);
  });

  test("whose authorize throws gets UNAVAILABLE, and onError gets the cause", async () => {
    const { connect, errors } = serve({ authorize: () => Promise.reject(new Error("the database is away")) });
    const answer = await join(await connect());
    expect(answer?.payload).toMatchObject({ code: "UNAVAILABLE" });
    expect(JSON.stringify(answer?.payload)).not.toContain("database is away");
    expect(errors).toEqual(["UNAVAILABLE"]);
  });

  test("whose authorize does not settle gets UNAVAILABLE after the handshake's time limit", async () => {
    const { connect, server } = serve({ authorize: () => new Promise(() => undefined) });
    const peer = await connect();
    await join(peer);
    await server.clock.advance(10_100);
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:error", payload: { code: "UNAVAILABLE" } });
  });

  test("waits for onAuth, which refuses it together with the connection", async () => {
    const authorize = vi.fn(() => true);
    const { connect, router } = serve({ authorize });
    router.onAuth(() => false);
    const peer = await connect();
    await join(peer);
    expect(peer.closedWith).toMatchObject({ code: 4401 });
    expect(authorize).not.toHaveBeenCalled();
  });

  test("of one channel more than the limit gets RESOURCE_EXHAUSTED", async () => {
    const { connect } = serve({ options: { maxTopicsPerConnection: 2, joinsPerSecond: Infinity } });
    const peer = await connect();
    await join(peer, "a");
    await join(peer, "b");
    expect((await join(peer, "c"))?.payload).toMatchObject({ code: "RESOURCE_EXHAUSTED", retryable: false });
    expect((await join(peer, "b"))?.type).toBe("$ws:joined");
    await leave(peer, "a");
    expect((await join(peer, "c"))?.type).toBe("$ws:joined");
  });

  test("of a member is answered again, and runs onJoin once", async () => {
    const { connect, say, log } = serve();
    const peer = await connect();
    await join(peer);
    await join(peer);
    await say("once");
    expect([texts(peer), log]).toEqual([["once"], ["ann joined a"]]);
  });

  test("that the client left before its authorization ended makes no member", async () => {
    const verdict = gate<boolean>();
    const { connect, say, log } = serve({ authorize: () => verdict.promise });
    const peer = await connect();
    await join(peer);
    await leave(peer);
    verdict.open(true);
    await say("late");
    expect([texts(peer), log]).toEqual([[], []]);
  });

  test("of a connection that closed meanwhile makes no member, and reports nothing", async () => {
    const verdict = gate<boolean>();
    const { connect, say, log, errors } = serve({ authorize: () => verdict.promise });
    const peer = await connect();
    await join(peer);
    await peer.disconnect();
    verdict.open(true);
    expect(await say("late")).toEqual({ ok: true, matchedLocal: 0 });
    expect([log, errors]).toEqual([[], []]);
  });
});

describe("a membership", () => {
  test("ends with the connection, and runs onLeave once", async () => {
    const { connect, say, log } = serve();
    const peer = await connect();
    await join(peer);
    await peer.disconnect();
    expect(await say("x")).toEqual({ ok: true, matchedLocal: 0 });
    expect(log).toEqual(["ann joined a", "ann left a"]);
  });

  test("ends with router.leave, for matching connections only", async () => {
    const { connect, say, router, log } = serve();
    const [ann, ben] = [await connect("ann"), await connect("ben")];
    for (const peer of [ann, ben]) await join(peer);
    await join(ann, "b");
    expect(await router.leave({ data: { userId: "ann" } }, Room, { id: "a" })).toBe(1);
    await say("after");
    await say("other", "b");
    expect([texts(ann), texts(ben)]).toEqual([["other"], ["after"]]);
    expect(left(ann)).toEqual([{ topic: "$c/room:*/a", code: "PERMISSION_DENIED" }]);
    expect(log.at(-1)).toBe("ann left a");
  });

  test("does not begin when router.leave was called while authorize ran", async () => {
    const verdict = gate<boolean>();
    const { connect, say, router } = serve({ authorize: () => verdict.promise });
    const peer = await connect();
    await join(peer);
    await router.leave({ data: { userId: "ann" } }, Room, { id: "a" });
    verdict.open(true);
    await settle();
    await say("late");
    expect(texts(peer)).toEqual([]);
    expect(peer.frames.at(-1)?.payload).toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("is authorized again when its time is over, and ends when that fails", async () => {
    const verdicts: (ChannelVerdict | Error)[] = [];
    const { connect, server, say } = serve({
      authorize: () => {
        const verdict = verdicts.shift();
        if (verdict instanceof Error) throw verdict;
        return verdict ?? false;
      },
    });
    const now = server.clock.wall();
    verdicts.push({ until: now + 1_000 }, { until: now + 2_000 }, false);
    const peer = await connect();
    await join(peer);
    await server.clock.advance(1_900);
    await say("in time");
    await server.clock.advance(200);
    await say("too late");
    expect(texts(peer)).toEqual(["in time"]);
    expect(left(peer)).toEqual([{ topic: "$c/room:*/a", code: "PERMISSION_DENIED" }]);
    verdicts.push({ until: now + 3_000 }, new Error("away"));
    await join(peer);
    await server.clock.advance(2_000);
    expect(left(peer).at(-1)).toEqual({ topic: "$c/room:*/a", code: "UNAVAILABLE" });
  });

  test("is authorized again when refresh returns other data, and not when it returns the same", async () => {
    const authorize = vi.fn((ctx: { readonly data: Data }) => ctx.data.userId !== "nobody");
    const router = createRouter<Data>().channel(Room, { authorize });
    const users = ["ann", "nobody"];
    const refresh = () => ({ userId: users.shift() });
    const server = createTestServer(router, { refresh });
    const peer = await server.connect({ data: { userId: "ann" } });
    await join(peer);
    const renew = () => peer.sendRaw(JSON.stringify({ type: "$ws:auth", payload: { token: "new" } }));
    await renew();
    await settle();
    expect(authorize).toHaveBeenCalledTimes(1);
    await renew();
    await settle();
    expect(left(peer)).toEqual([{ topic: "$c/room:*/a", code: "PERMISSION_DENIED" }]);
  });

  test("counts once for the limit of channels, however many joins of its topic wait", async () => {
    const verdict = gate<boolean>();
    const { connect } = serve({
      authorize: () => verdict.promise,
      options: { maxTopicsPerConnection: 2, joinsPerSecond: Infinity },
    });
    const peer = await connect();
    for (const id of ["a", "a", "b", "b"]) await join(peer, id);
    expect((await join(peer, "c"))?.payload).toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    verdict.open(true);
    await settle();
    expect(peer.frames.filter(({ type }) => type === "$ws:joined")).toHaveLength(4);
  });

  test("with a time in the past is refused", async () => {
    const { connect, server } = serve({ authorize: () => ({ until: 1 }) });
    void server;
    expect((await join(await connect()))?.payload).toMatchObject({ code: "PERMISSION_DENIED" });
  });
});

const Ask = rpc("ASK", { id: z.unknown() }, "ASKED", { isMember: z.boolean() });

describe("ctx and router", () => {
  test("ctx.joined tells whether the sender is a member, and is false for invalid parameters", async () => {
    const { connect, router } = serve();
    router.rpc(Ask, (ctx) => ({ isMember: ctx.joined(Room, { id: ctx.payload.id as string }) }));
    const peer = await connect();
    await join(peer);
    const ask = async (id: unknown) => (await peer.request(Ask, { id })).isMember;
    expect([await ask("a"), await ask("b"), await ask(5)]).toEqual([true, false, false]);
    await leave(peer);
    expect(await ask("a")).toBe(false);
  });

  test("publish refuses an event that the channel does not declare, and a payload that does not fit", async () => {
    const { connect, router, errors } = serve();
    const peer = await connect();
    await join(peer);
    const room = router.to(Room, { id: "a" });
    expect(await room.publish(Other as unknown as typeof Said, { text: "x" })).toMatchObject({
      ok: false,
      error: "VALIDATION",
    });
    expect(await room.publish(Said, { text: 5 } as never)).toMatchObject({ ok: false, error: "VALIDATION" });
    expect(await room.publish(Said, { text: "x" }, { id: "once" })).toMatchObject({
      ok: false,
      error: "UNSUPPORTED",
    });
    expect([texts(peer), errors]).toEqual([[], ["INTERNAL", "INTERNAL"]]);
  });

  test("router.to throws for invalid parameters", () => {
    const { router } = serve();
    expect(() => router.to(Room, { id: 5 } as never)).toThrow(/params of channel "room:\{id\}"/);
  });

  test("subscribe and publish by string refuse names that begin with $", async () => {
    const { connect, router, say } = serve();
    const Sub = rpc("SUB", { topic: z.string() }, "SUBBED", {});
    router.rpc(Sub, async (ctx) => {
      await ctx.topics.subscribe(ctx.payload.topic);
      return {};
    });
    const eve = await connect("eve");
    await expect(eve.request(Sub, { topic: "$c/room:*/a" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(await router.publish("$c/room:*/a", Said, { text: "forged" })).toMatchObject({ ok: false });
    await say("real");
    expect(texts(eve)).toEqual([]);
  });

  test("router.channel throws without authorize, for two patterns with the same topics, and for no channel", () => {
    const router = createRouter();
    expect(() => router.channel(Room, {} as never)).toThrow(/authorize/);
    expect(() => router.channel("room" as unknown as typeof Room, { authorize: () => true })).toThrow(
      /channel\(\)/,
    );
    router.channel(Room, { authorize: () => true });
    const Twin = channel("room:{name}", { params: { name: z.string() }, events: [Said] });
    expect(() => router.channel(Twin, { authorize: () => true })).toThrow(/same topics/);
  });

  test("a merged router brings its channels", async () => {
    const router = createRouter<Data>().merge(serve().router);
    const peer = await createTestServer(router).connect({ data: { userId: "ann" } });
    expect((await join(peer))?.type).toBe("$ws:joined");
  });
});
