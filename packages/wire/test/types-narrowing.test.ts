/** Types of connection data behind middleware: code that must compile and code that must not. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { serve } from "../src/adapters/node.ts";
import type { Middleware, Router } from "../src/index.ts";
import { logger, requireAuth } from "../src/middleware/index.ts";
import { channel, createRouter, message, rpc, z } from "../src/zod.ts";

interface Session {
  readonly clientId: string;
  readonly userId?: string;
  readonly team?: string;
}
type SignedIn = Session & { readonly userId: string };

const Note = message("NOTE", { text: z.string() });
const Who = rpc("WHO", undefined, "WHO_IS", { id: z.string() });
const Long = rpc("LONG", undefined, "LONG_END", undefined, {
  progress: z.string(),
  durable: { keepMs: 60_000 },
});
const Room = channel("room:{id}", { params: { id: z.string() }, events: [Note] });

const inTeam: Middleware<Session, Session & { readonly team: string }> = (ctx, next) =>
  ctx.data.team === undefined ? ctx.error("PERMISSION_DENIED") : next();

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("requireAuth() narrows connection data", () => {
  test("in on, rpc and route after it, and returns the same router", () => {
    const router = createRouter<Session>();
    const guarded = router.use(requireAuth());
    expect(guarded).toBe(router);
    guarded
      .rpc(Who, (ctx) => ({ id: ctx.data.userId }))
      .on(Note, (ctx) => expectTypeOf(ctx.data.userId).toEqualTypeOf<string>())
      .rpc(Long, { owner: (ctx) => ctx.data.userId }, (ctx) => {
        expectTypeOf(ctx.data.userId).toEqualTypeOf<string>();
      })
      .route(Who)
      .rpc((ctx) => ({ id: ctx.data.userId }))
      .use(logger())
      .use((ctx, next) => (ctx.data.userId.length > 0 ? next() : undefined))
      .rpc(Who, (ctx) => ({ id: ctx.data.userId }));
    const log = logger();
    createRouter<Session>()
      .use(log)
      .use(requireAuth())
      .use(log)
      .on(Note, (ctx) => expectTypeOf(ctx.data).toEqualTypeOf<SignedIn>());
    createRouter<{ clientId: string; userId: number }>()
      .use(requireAuth())
      .on(Note, (ctx) => expectTypeOf(ctx.data).toEqualTypeOf<{ clientId: string; userId: number }>());
    createRouter()
      .use(requireAuth())
      .on(Note, (ctx) => expectTypeOf(ctx.data.userId).toEqualTypeOf<unknown>());
  });

  test("not before it, not in hooks, joins and authenticate", () => {
    const router = createRouter<Session>();
    const guarded = router.use(requireAuth());
    neverRun(() => {
      // @ts-expect-error userId may be missing: the type of `router` is unchanged
      router.rpc(Who, (ctx) => ({ id: ctx.data.userId }));
      // @ts-expect-error there is no such field
      guarded.on(Note, (ctx) => ctx.data.usrId);
      // @ts-expect-error a hook sees every connection
      guarded.onOpen((ctx) => ctx.data.userId.length);
      // @ts-expect-error a hook sees every connection
      guarded.onClose((ctx) => ctx.data.userId.length);
      // @ts-expect-error a hook sees every connection
      guarded.onAuth((ctx) => ctx.data.userId.length > 0);
      // @ts-expect-error middleware does not run around joins
      guarded.channel(Room, { authorize: (ctx) => ctx.data.userId.length > 0 });
      guarded.channel(Room, { authorize: (ctx) => ctx.data.userId !== undefined });
      void serve(guarded, { port: 0 });
      void serve(guarded, { port: 0, authenticate: () => ({}) });
      // @ts-expect-error userId is a string
      void serve(guarded, { port: 0, authenticate: () => ({ userId: 5 }) });
    });
  });

  test("and not with a predicate, unless its type arguments say so", () => {
    neverRun(() => {
      const router = createRouter<Session>();
      router
        .use(requireAuth((ctx) => ctx.data.userId !== undefined))
        // @ts-expect-error the predicate guarantees nothing
        .rpc(Who, (ctx) => ({ id: ctx.data.userId }));
      router
        .use(requireAuth<Session, SignedIn>((ctx) => ctx.data.userId !== undefined))
        .rpc(Who, (ctx) => ({ id: ctx.data.userId }));
    });
  });
});

describe("middleware with a declared type", () => {
  test("narrows the router, or one route", () => {
    createRouter<Session>()
      .use(requireAuth())
      .use(inTeam)
      .on(Note, (ctx) => expectTypeOf(ctx.data.team.concat(ctx.data.userId)).toEqualTypeOf<string>());
    neverRun(() => {
      const router = createRouter<Session>();
      router
        .route(Who)
        .use(inTeam)
        .rpc((ctx) => ({ id: ctx.data.team }))
        // @ts-expect-error only that route is behind inTeam
        .rpc(Who, (ctx) => ({ id: ctx.data.team }));
      // @ts-expect-error inTeam needs the field team
      createRouter<{ clientId: string; team: number }>().use(inTeam);
    });
  });
});

describe("merge", () => {
  const chat = createRouter<Session, SignedIn>().rpc(Who, (ctx) => ({ id: ctx.data.userId }));
  const roomy = createRouter<Session>()
    .use(requireAuth())
    .rpc(Who, (ctx) => ({ id: ctx.data.userId }));
  const oneType = createRouter<SignedIn>().rpc(Who, (ctx) => ({ id: ctx.data.userId }));

  test("accepts a router whose handlers' needs are guaranteed there", () => {
    createRouter<Session>().use(requireAuth()).merge(chat).merge(createRouter());
    createRouter<SignedIn>().merge(chat).merge(oneType);
    // The inner router has its own guard, so it needs none.
    createRouter<Session>().merge(roomy);
    neverRun(() => {
      // @ts-expect-error no middleware guarantees userId here
      createRouter<Session>().merge(chat);
      // @ts-expect-error every connection may lack userId, and hooks of the one-type form see every connection
      createRouter<Session>().use(requireAuth()).merge(oneType);
      // @ts-expect-error no connection has a role
      createRouter<Session>().use(requireAuth()).merge(createRouter<{ clientId: string; role: string }>());
    });
  });

  test("names the data that is missing, and how to write a router for handlers behind middleware", () => {
    neverRun(() => {
      type Refusal<T> = T extends (router: infer R) => unknown ? R : never;
      const merge = createRouter<Session>().use(requireAuth()).merge<SignedIn, SignedIn, SignedIn>;
      expectTypeOf<keyof Refusal<typeof merge>>().toExtend<PropertyKey>();
      type Message =
        "every connection must have this data; if only handlers need it, write createRouter<Connection, Handler>()";
      expectTypeOf<Refusal<typeof merge>[Message]>().toEqualTypeOf<SignedIn>();
    });
  });

  test("is the only way to use a router that needs more than its connections have", () => {
    const plain: Router = createRouter<Session>().use(requireAuth());
    expect(plain).toBeDefined();
    neverRun(() => {
      // @ts-expect-error nothing guarantees userId
      void serve(chat, { port: 0 });
      createRouter<Session>().accept(...({} as Parameters<Router<Session>["accept"]>));
      // @ts-expect-error nothing guarantees userId
      chat.accept(...({} as Parameters<Router<Session>["accept"]>));
      // @ts-expect-error a handler's data has all fields of the connection's
      createRouter<Session, { clientId: string; userId: string; team?: number }>();
    });
  });
});
