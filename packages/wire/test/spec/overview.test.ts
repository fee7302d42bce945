/** One test for each main promise. The other files of this folder test the details. */
import { describe, expect, test } from "vitest";
import { ERROR_CODES, MemoryPubSub, type PubSub } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, framesOf, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "guide/schemas: Validation on both ends ($name)",
  ({ createRouter, message, string }) => {
    const Say = message("SAY", { text: string() }, { room: string() });

    test("the server refuses unknown keys in the frame, in meta and in the payload", async () => {
      const handled: string[] = [];
      const server = createTestServer(createRouter().on(Say, (ctx) => handled.push(ctx.payload.text)));
      const peer = await server.connect();
      const valid = { type: "SAY", meta: { room: "a" }, payload: { text: "hi" } };
      await sendFrame(peer, { ...valid, extra: 1 });
      await sendFrame(peer, { ...valid, meta: { room: "a", extra: 1 } });
      await sendFrame(peer, { ...valid, payload: { text: "hi", extra: 1 } });
      expect(errorsOf(peer).map(({ code }) => code)).toEqual(new Array(3).fill("INVALID_ARGUMENT"));
      expect(handled).toEqual([]);
      await sendFrame(peer, valid);
      expect(handled).toEqual(["hi"]);
    });
  },
);

describe.each(libraries)("guide/middleware: Middleware ($name)", ({ createRouter, message, rpc, string }) => {
  const Say = message("SAY", { text: string() }, { room: string() });
  const Greet = rpc("GREET", { name: string() }, "GREETING", { text: string() });

  test("a message passes global middleware, then route middleware, then its handler", async () => {
    const log: string[] = [];
    const router = createRouter()
      .use((ctx, next) => {
        log.push(`global ${ctx.type}`);
        return next();
      })
      .rpc(Greet, (ctx) => ctx.reply(Greet.response, { text: `Hello, ${ctx.payload.name}!` }));
    router
      .route(Say)
      .use((ctx, next) => {
        log.push(`route ${ctx.type}`);
        return next();
      })
      .on((ctx) => log.push(ctx.payload.text));
    const peer = await createTestServer(router).connect();
    await peer.send(Say, { text: "hi" }, { room: "a" });
    expect(await peer.request(Greet, { name: "Ada" })).toEqual({ text: "Hello, Ada!" });
    expect(log).toEqual(["global SAY", "route SAY", "hi", "global GREET"]);
  });
});

describe.each(libraries)("guide/pubsub: Custom pub/sub ($name)", ({ createRouter, message, string }) => {
  test("the router publishes over the pub/sub of the application", async () => {
    const memory = new MemoryPubSub();
    const published: string[] = [];
    const pubsub: PubSub = {
      subscribe: (topic, subscriber) => memory.subscribe(topic, subscriber),
      unsubscribe: (topic, subscriber) => memory.unsubscribe(topic, subscriber),
      publish: (topic, frame, options) => {
        published.push(topic);
        return memory.publish(topic, frame, options);
      },
      close: () => memory.close(),
    };
    const News = message("NEWS", { text: string() });
    const router = createRouter({ pubsub }).onOpen((ctx) => ctx.subscribe("news"));
    const peer = await createTestServer(router).connect();
    await router.publish("news", News, { text: "launched" });
    expect(peer.received(News)).toEqual([{ text: "launched" }]);
    expect(published).toEqual(["news"]);
  });
});

describe.each(libraries)("guide/rpc: Requests ($name)", ({ createRouter, rpc, string }) => {
  const Greet = rpc("GREET", { name: string() }, "GREETING", { text: string() });

  test("a request has progress, cancellation, a deadline and a correlationId", async () => {
    const router = createRouter().rpc(Greet, (ctx) => {
      ctx.progress({ correlationId: ctx.meta.correlationId, ms: ctx.timeRemaining() });
      return unsettled();
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Greet, { name: "Ada" }, { correlationId: "1", timeoutMs: 5_000 });
    expect(framesOf(peer, "$ws:rpc-progress")).toMatchObject([
      { meta: { correlationId: "1" }, payload: { correlationId: "1", ms: 5_000 } },
    ]);
    await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "1" } });
    expect(outcomeOf(peer, "1")).toBe("CANCELLED");
  });
});

describe("guide/errors: Error codes", () => {
  test("each of the 13 standard codes is retryable or not", () => {
    expect(Object.keys(ERROR_CODES)).toHaveLength(13);
    for (const { retryable } of Object.values(ERROR_CODES)) expect(retryable).toBeTypeOf("boolean");
  });
});
