/** The types of servers and the data they admit, of clients and of test peers. */
import { describe, expectTypeOf, test } from "vitest";
import { createBunHandler, serve as serveBun } from "../src/adapters/bun.ts";
import { createDurableObjectHandler } from "../src/adapters/cloudflare.ts";
import { createNodeHandler, type HandlerOptions, type ServerHandle, serve } from "../src/adapters/node.ts";
import { wsClient } from "../src/client/index.ts";
import { createTestServer } from "../src/testing/index.ts";
import { createRouter, message, rpc, z } from "../src/zod.ts";

interface Data {
  readonly clientId: string;
  readonly userId: string;
  readonly visits?: number;
}

const Say = message("SAY", { text: z.string(), times: z.number().default(1) });
const Add = rpc("ADD", { a: z.number(), b: z.number() }, "SUM", { sum: z.number() });

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("the types of a server", () => {
  test("make serve() return a promise of its handle", () => {
    expectTypeOf<ReturnType<typeof serve>>().toEqualTypeOf<Promise<ServerHandle>>();
    neverRun(async () => {
      const { port } = await serve(createRouter(), { port: 0 });
      expectTypeOf(port).toEqualTypeOf<number>();
    });
  });

  test("let authenticate return the router's data without clientId, undefined, or a promise of either", () => {
    type Authenticate = NonNullable<HandlerOptions<Data>["authenticate"]>;
    expectTypeOf<() => { userId: string }>().toExtend<Authenticate>();
    expectTypeOf<() => undefined>().toExtend<Authenticate>();
    expectTypeOf<() => Promise<{ userId: string; visits: number } | undefined>>().toExtend<Authenticate>();
    expectTypeOf<() => { userId: string; expiresAt: number }>().toExtend<Authenticate>();
    expectTypeOf<() => { visits: number }>().not.toExtend<Authenticate>();
    expectTypeOf<() => { userId: number }>().not.toExtend<Authenticate>();
    expectTypeOf<() => boolean>().not.toExtend<Authenticate>();
    neverRun(async () => {
      const router = createRouter<Data>();
      await serve(router, { authenticate: (request, { token }) => ({ userId: token ?? request.url }) });
      // @ts-expect-error userId is a string
      await serve(router, { authenticate: () => ({ userId: 1 }) });
      // @ts-expect-error userId is missing
      await serve(router, { authenticate: async () => ({ visits: 1 }) });
      // @ts-expect-error a boolean is not data
      await serve(router, { authenticate: () => true });
      // @ts-expect-error there is no such option
      await serve(router, { prot: 3000 });
    });
  });

  test("require authenticate, or data, when the router's data has required members", () => {
    const needs = createRouter<Data>();
    const needsNothing = createRouter<{ clientId: string; visits?: number }>();
    neverRun(async () => {
      // @ts-expect-error userId comes from nowhere
      await serve(needs);
      // @ts-expect-error userId comes from nowhere
      await serve(needs, { port: 0 });
      // @ts-expect-error userId comes from nowhere
      await serveBun(needs, { port: 0 });
      // @ts-expect-error userId comes from nowhere
      createNodeHandler(needs, { path: "/ws" });
      // @ts-expect-error userId comes from nowhere
      createBunHandler(needs);
      // @ts-expect-error userId comes from nowhere
      createDurableObjectHandler(needs);
      // @ts-expect-error userId is a string
      await serve(needs, { data: { userId: 1 } });
      await serve(needs, { data: { userId: "guest" } });
      await serve(needs, { authenticate: async () => undefined });
      createNodeHandler(needs, { path: "/ws", authenticate: () => ({ userId: "ada" }) });
      await serve(needsNothing);
      await serveBun(needsNothing, { port: 0 });
      createNodeHandler(createRouter(), { path: "/ws" });
    });
  });

  test("give the adapter's hooks the router's data", () => {
    neverRun(() =>
      serve(createRouter<Data>(), {
        data: { userId: "guest" },
        onOpen: (ws) => expectTypeOf(ws.data).toEqualTypeOf<Data>(),
        onClose: (ws, code, reason) => expectTypeOf([ws.clientId, code, reason]).items.toBeUnknown,
        refresh: (_token, data) => ({ userId: data.userId }),
      }),
    );
  });

  test("give the peers of a test server the router's data and the schemas' types", () => {
    neverRun(async () => {
      const server = createTestServer(createRouter<Data>());
      const peer = await server.connect({ data: { userId: "ada" } });
      expectTypeOf(await peer.request(Add, { a: 1, b: 2 })).toEqualTypeOf<{ sum: number }>();
      expectTypeOf(peer.received(Say)).items.toEqualTypeOf<{ text: string; times?: number | undefined }>();
      // @ts-expect-error userId is a string
      await server.connect({ data: { userId: 1 } });
      // @ts-expect-error a is a number
      await peer.request(Add, { a: "1", b: 2 });
    });
  });
});

describe("the types of a client", () => {
  test("accept a schema's input and return the response's output", () => {
    const client = wsClient({ url: "ws://localhost" });
    expectTypeOf(client.request<typeof Add>)
      .parameter(1)
      .toEqualTypeOf<{ a: number; b: number }>();
    expectTypeOf(client.request<typeof Add>).returns.resolves.toMatchTypeOf<{
      type: "SUM";
      payload: { sum: number };
    }>();
    expectTypeOf(client.send<typeof Say>)
      .parameter(1)
      .toEqualTypeOf<{ text: string; times?: number | undefined }>();
  });

  test("accept the options of connect and describe how a connection ended", () => {
    neverRun(async () => {
      const client = wsClient({ url: "ws://localhost" });
      await client.connect({ attempts: 3, timeoutMs: 1_000, signal: AbortSignal.timeout(5_000) });
      // @ts-expect-error the option is called attempts
      await client.connect({ attemps: 3 });
      client.onState((_state, info) => {
        expectTypeOf(info?.closeCode).toEqualTypeOf<number | undefined>();
        expectTypeOf(info?.reason).toEqualTypeOf<string | undefined>();
      });
    });
  });
});
