/** What the compiler knows at the two ends: servers and the data they admit, clients and test peers. */
import { describe, expectTypeOf, test } from "vitest";
import { type HandlerOptions, type ServerHandle, serve } from "../src/adapters/node.ts";
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

/** Code for the compiler's eyes only. */
function neverRun(_code: () => unknown): void {}

describe("servers", () => {
  test("serve() is assignable to Promise<void>, and its handle is there for those who want it", () => {
    expectTypeOf<ReturnType<typeof serve>>().toExtend<Promise<void>>();
    expectTypeOf<Awaited<ReturnType<typeof serve>>>().toExtend<ServerHandle>();
    neverRun(async () => {
      const listening: Promise<void> = serve(createRouter());
      await listening;
      const { port } = await serve(createRouter(), { port: 0 });
      expectTypeOf(port).toEqualTypeOf<number>();
    });
  });

  test("authenticate gives the router's data without clientId, undefined, or a promise of either", () => {
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
      // @ts-expect-error a verdict is not data
      await serve(router, { authenticate: () => true });
      // @ts-expect-error there is no such option
      await serve(router, { prot: 3000 });
    });
  });

  test("the adapter's hooks get the router's data", () => {
    neverRun(() =>
      serve(createRouter<Data>(), {
        onOpen: (ws) => expectTypeOf(ws.data).toEqualTypeOf<Data>(),
        onClose: (ws, code, reason) => expectTypeOf([ws.clientId, code, reason]).items.toBeUnknown,
        refresh: (_token, data) => ({ userId: data.userId }),
      }),
    );
  });

  test("a test server's peers have the router's data and the schemas' types", () => {
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

describe("clients", () => {
  test("a client sends a schema's input and gets the response's output", () => {
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
});
