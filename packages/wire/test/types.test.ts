/** Types of the public API: each test holds code that must compile and code that must not. */
import { describe, expectTypeOf, test } from "vitest";
import * as core from "../src/index.ts";
import { requireAuth } from "../src/middleware/index.ts";
import { createRouter, message, rpc, z } from "../src/zod.ts";

declare module "@halyard/wire" {
  interface ConnectionData {
    declaredLocale?: string;
  }
}

interface Data {
  readonly clientId: string;
  readonly userId: string;
  readonly visits?: number;
}

const Bare = message("BARE");
const Say = message("SAY", { text: z.string(), times: z.number().default(1) });
const Tagged = message("TAGGED", { text: z.string() }, { room: z.string(), page: z.number().default(1) });
const Hinted = message("HINTED", { text: z.string() }, { hint: z.string().optional() });
const Add = rpc("ADD", { a: z.number(), b: z.number() }, "SUM", { sum: z.number() });
const Touch = rpc("TOUCH", undefined, "TOUCHED", undefined);

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("the types of payloads", () => {
  test("give a handler the payload of its schema, after defaults", () => {
    createRouter()
      .on(Say, (ctx) => {
        expectTypeOf(ctx.payload).toEqualTypeOf<{ text: string; times: number }>();
        expectTypeOf(ctx.type).toEqualTypeOf<"SAY">();
        // @ts-expect-error the payload has no such field
        ctx.payload.nothing;
      })
      .rpc(Add, (ctx) => expectTypeOf(ctx.payload).toEqualTypeOf<{ a: number; b: number }>());
  });

  test("are undefined when the schema has none", () => {
    createRouter()
      .on(Bare, (ctx) => expectTypeOf(ctx.payload).toEqualTypeOf<undefined>())
      .rpc(Touch, (ctx) => expectTypeOf(ctx.payload).toEqualTypeOf<undefined>());
  });

  test("let send accept the schema's input, where fields with defaults are optional", () => {
    createRouter().on(Bare, (ctx) => {
      ctx.send(Say, { text: "hi" });
      ctx.send(Bare);
      ctx.send(Bare, undefined);
      // @ts-expect-error the payload is missing
      void ctx.send(Say);
      // @ts-expect-error text is a string
      void ctx.send(Say, { text: 1 });
      // @ts-expect-error SAY has no such field
      void ctx.send(Say, { text: "hi", extra: 1 });
      // @ts-expect-error BARE takes no payload
      void ctx.send(Bare, { text: "hi" });
    });
  });

  test("let send return a promise only with waitFor", () => {
    createRouter().on(Bare, (ctx) => {
      expectTypeOf(ctx.send(Say, { text: "hi" })).toEqualTypeOf<void>();
      expectTypeOf(ctx.send(Say, { text: "hi" }, { waitFor: "ack" })).toEqualTypeOf<Promise<boolean>>();
      expectTypeOf(ctx.send(Bare, undefined, { waitFor: "drain" })).toEqualTypeOf<Promise<boolean>>();
      // @ts-expect-error waitFor does not accept this value
      void ctx.send(Say, { text: "hi" }, { waitFor: "delivery" });
    });
  });

  test("let publish accept a string as topic and the schema's input", () => {
    const router = createRouter().on(Bare, async (ctx) => {
      expectTypeOf(await ctx.publish("topic", Say, { text: "hi" })).toEqualTypeOf<core.PublishResult>();
      await ctx.publish("topic", Bare);
      await ctx.publish("topic", Say, { text: "hi" }, { excludeSelf: true, partitionKey: "k" });
      // @ts-expect-error a topic is a string
      await ctx.publish(5, Say, { text: "hi" });
      // @ts-expect-error a topic is a string
      await ctx.subscribe(5);
      // @ts-expect-error topics are strings
      await ctx.topics.subscribeMany([5]);
      // @ts-expect-error text is a string
      await ctx.publish("topic", Say, { text: 1 });
      // @ts-expect-error the payload is missing
      await ctx.publish("topic", Say);
      // @ts-expect-error there is no such option
      await ctx.publish("topic", Say, { text: "hi" }, { exclude: true });
    });
    neverRun(async () => {
      await router.publish("topic", Say, { text: "hi" });
      // @ts-expect-error text is a string
      await router.publish("topic", Say, { text: 1 });
      // @ts-expect-error a topic is a string
      await router.publish({}, Say, { text: "hi" });
    });
  });

  test("narrow a publish result by ok", () => {
    neverRun(async () => {
      const result = await createRouter().publish("topic", Bare);
      if (result.ok) expectTypeOf(result.matchedLocal).toEqualTypeOf<number | undefined>();
      else expectTypeOf(result.error).toEqualTypeOf<core.PublishFailure>();
      // @ts-expect-error a failure has no count
      if (!result.ok) result.matchedLocal;
    });
  });
});

describe("the types of requests", () => {
  test("let reply accept only the response's schema and payload", () => {
    createRouter()
      .rpc(Add, (ctx) => {
        ctx.reply(Add.response, { sum: ctx.payload.a + ctx.payload.b });
        expectTypeOf(ctx.reply(Add.response, { sum: 1 })).toEqualTypeOf<void>();
        expectTypeOf(ctx.reply(Add.response, { sum: 1 }, { waitFor: "ack" })).toEqualTypeOf<
          Promise<boolean>
        >();
        // @ts-expect-error the response's payload is missing
        void ctx.reply(Add.response);
        // @ts-expect-error sum is a number
        void ctx.reply(Add.response, { sum: "3" });
        // @ts-expect-error the response has no such field
        void ctx.reply(Add.response, { sum: 3, extra: 1 });
        // @ts-expect-error SAY is not the response of ADD
        void ctx.reply(Say, { text: "3" });
        // @ts-expect-error the request is not its own response
        void ctx.reply(Add, { a: 1, b: 2 });
      })
      .rpc(Touch, (ctx) => {
        ctx.reply(Touch.response);
        // @ts-expect-error TOUCHED takes no payload
        void ctx.reply(Touch.response, {});
      });
  });

  test("refuse a schema without response", () => {
    neverRun(() => {
      // @ts-expect-error SAY has no response
      createRouter().rpc(Say, () => undefined);
      // @ts-expect-error SAY has no response
      createRouter().route(Say).rpc(() => undefined); // biome-ignore format: the directive is for this line
      createRouter()
        .route(Add)
        .rpc((ctx) => ctx.reply(Add.response, { sum: 1 }));
    });
  });

  test("give the RPC context the members of a request", () => {
    createRouter().rpc(Add, (ctx) => {
      expectTypeOf(ctx.isRpc).toEqualTypeOf<true>();
      expectTypeOf(ctx.deadline).toEqualTypeOf<number>();
      expectTypeOf(ctx.meta.correlationId).toEqualTypeOf<string>();
      expectTypeOf(ctx.abortSignal).toEqualTypeOf<AbortSignal>();
      expectTypeOf(ctx.onCancel(() => undefined)).toEqualTypeOf<() => void>();
      expectTypeOf(ctx.progress).parameter(0).toEqualTypeOf<unknown>();
    });
  });

  test("give the event context none of them", () => {
    createRouter().on(Say, (ctx) => {
      expectTypeOf(ctx.isRpc).toEqualTypeOf<false>();
      expectTypeOf(ctx.meta.correlationId).toEqualTypeOf<string | undefined>();
      // @ts-expect-error events are not replied to
      ctx.reply;
      // @ts-expect-error events have no progress
      ctx.progress;
      // @ts-expect-error events are not cancelled
      ctx.onCancel;
      // @ts-expect-error events are not cancelled
      ctx.abortSignal;
      // @ts-expect-error events have no deadline
      ctx.deadline;
    });
  });

  test("give the event context to on with a request's schema", () => {
    createRouter().on(Add, (ctx) => {
      expectTypeOf(ctx.payload).toEqualTypeOf<{ a: number; b: number }>();
      // @ts-expect-error a plain event handler does not reply
      ctx.reply;
    });
  });
});

describe("the types of meta", () => {
  test("give a handler declared meta as the schema's output, beside the standard keys", () => {
    createRouter().on(Tagged, (ctx) => {
      expectTypeOf(ctx.meta.room).toEqualTypeOf<string>();
      expectTypeOf(ctx.meta.page).toEqualTypeOf<number>();
      expectTypeOf(ctx.meta.clientId).toEqualTypeOf<string>();
      expectTypeOf(ctx.meta.receivedAt).toEqualTypeOf<number>();
      expectTypeOf(ctx.meta.timestamp).toEqualTypeOf<number | undefined>();
      // @ts-expect-error meta has no such key
      ctx.meta.other;
      // @ts-expect-error only the server writes this key
      ctx.meta.clientId = "mine";
    });
  });

  test("require required meta, allow optional meta to be absent, and refuse unknown keys", () => {
    createRouter().on(Bare, async (ctx) => {
      ctx.send(Tagged, { text: "hi" }, { meta: { room: "a" } });
      ctx.send(Hinted, { text: "hi" });
      ctx.send(Hinted, { text: "hi" }, { meta: { hint: "x", timestamp: 1 } });
      // @ts-expect-error TAGGED needs a room
      void ctx.send(Tagged, { text: "hi" });
      // @ts-expect-error TAGGED needs a room
      void ctx.send(Tagged, { text: "hi" }, { meta: {} });
      // @ts-expect-error room is a string
      void ctx.send(Tagged, { text: "hi" }, { meta: { room: 1 } });
      // @ts-expect-error TAGGED declares no such key
      void ctx.send(Tagged, { text: "hi" }, { meta: { room: "a", other: 1 } });
      // @ts-expect-error SAY declares no meta
      void ctx.send(Say, { text: "hi" }, { meta: { room: "a" } });
      // @ts-expect-error TAGGED needs a room
      await ctx.publish("topic", Tagged, { text: "hi" });
      await ctx.publish("topic", Tagged, { text: "hi" }, { meta: { room: "a" } });
    });
  });
});

describe("the types of connection data", () => {
  test("come from the generic of createRouter everywhere", () => {
    createRouter<Data>({
      authorizeTopic: (ctx, topic) => topic === ctx.data.userId,
      hooks: { onOpen: (ctx) => expectTypeOf(ctx.data).toEqualTypeOf<Data>() },
    })
      .onClose((ctx) => expectTypeOf(ctx.data.visits).toEqualTypeOf<number | undefined>())
      .onAuth((ctx) => ctx.data.userId === "ada")
      .use((ctx, next) => {
        expectTypeOf(ctx.data).toEqualTypeOf<Data>();
        return next();
      })
      .on(Bare, (ctx) => {
        expectTypeOf(ctx.data).toEqualTypeOf<Data>();
        expectTypeOf(ctx.ws.data).toEqualTypeOf<Data>();
        // @ts-expect-error there is no such field
        ctx.data.nothing;
      });
    neverRun(() => {
      // @ts-expect-error connection data has a clientId
      createRouter<{ userId: string }>();
    });
  });

  test("come from ConnectionData when it is extended for all routers", () => {
    expectTypeOf<core.ConnectionData["declaredLocale"]>().toEqualTypeOf<string | undefined>();
    createRouter()
      .onOpen((ctx) => ctx.assignData({ declaredLocale: "de" }))
      .on(Bare, (ctx) => {
        expectTypeOf(ctx.data.declaredLocale).toEqualTypeOf<string | undefined>();
        // @ts-expect-error the declared field is a string
        ctx.assignData({ declaredLocale: 1 });
      });
  });

  test("let getData read the fields and assignData set some of them", () => {
    createRouter<Data>().on(Bare, (ctx) => {
      expectTypeOf(ctx.getData("userId")).toEqualTypeOf<string | undefined>();
      expectTypeOf(ctx.getData("visits")).toEqualTypeOf<number | undefined>();
      ctx.assignData({ visits: 1 });
      ctx.assignData({});
      // @ts-expect-error there is no such field
      ctx.getData("nothing");
      // @ts-expect-error visits is a number
      ctx.assignData({ visits: "1" });
      // @ts-expect-error there is no such field
      ctx.assignData({ nothing: 1 });
    });
  });

  test("hide the payload from middleware, which may be written for any data", () => {
    createRouter<Data>()
      .use(requireAuth())
      .use(requireAuth((ctx) => ctx.data.userId !== ""))
      .use((ctx, next) => {
        expectTypeOf(ctx.type).toEqualTypeOf<string>();
        // @ts-expect-error middleware does not see the payload
        ctx.payload;
        // @ts-expect-error middleware does not reply
        ctx.reply;
        return next();
      });
  });
});

describe("the types of errors", () => {
  test("complete standard codes and allow custom ones", () => {
    const suggested: core.ErrorCode[] = ["NOT_FOUND", "INTERNAL"];
    expectTypeOf(suggested).items.toExtend<core.AnyErrorCode>();
    expectTypeOf<"ROOM_FULL">().toExtend<core.AnyErrorCode>();
    // A plain `string` would complete nothing, so the union must contain the standard codes.
    expectTypeOf<Extract<core.AnyErrorCode, core.ErrorCode>>().toEqualTypeOf<core.ErrorCode>();
    createRouter().on(Bare, (ctx) => {
      ctx.error("NOT_FOUND");
      ctx.error("ROOM_FULL", "try another", { room: 1 }, { retryable: true, retryAfterMs: 5 });
      // @ts-expect-error a code is a string
      ctx.error(404);
      // @ts-expect-error there is no such option
      ctx.error("NOT_FOUND", "no", undefined, { retry: true });
      // @ts-expect-error details are an object
      ctx.error("NOT_FOUND", "no", "details");
    });
  });

  test("are narrowed by isWsError, and include the thirteen codes", () => {
    const caught: unknown = undefined;
    if (core.WsError.isWsError(caught)) expectTypeOf(caught).toEqualTypeOf<core.WsError>();
    expectTypeOf(core.ERROR_CODES.ABORTED.retryable).toEqualTypeOf<boolean>();
    // @ts-expect-error there is no such standard code
    core.ERROR_CODES.ROOM_FULL;
  });

  test("give onError a WsError, and let it return false or nothing", () => {
    createRouter()
      .onError((error) => expectTypeOf(error).toEqualTypeOf<core.WsError>() as never)
      .onError(() => false)
      .onError(() => undefined)
      // @ts-expect-error only booleans and undefined are allowed
      .onError(() => "suppress");
  });

  test("narrow limit infos by type", () => {
    createRouter().onLimitExceeded((info) => {
      if (info.type === "rate") expectTypeOf(info.retryAfterMs).toEqualTypeOf<number | null>();
      // @ts-expect-error a payload limit has no retryAfterMs
      else info.retryAfterMs;
    });
  });
});
