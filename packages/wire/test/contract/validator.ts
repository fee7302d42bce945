/** The contract of every validation library: strict payloads and meta, inbound and outbound, tested through a router. */
import { describe, expect, test } from "vitest";
import { createRouter, type MessageSchema, type StandardSchema, WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";

interface Order {
  readonly item: string;
  readonly count: number;
}

type OrderInput = Omit<Order, "count"> & { readonly count?: number | undefined };

/** The same three messages, declared with each library. */
export interface ValidatorMessages {
  /** `item` is a string. `count` is a number of at least 1, by default 1. */
  readonly Ordered: MessageSchema<string, StandardSchema<OrderInput, Order>, undefined, undefined>;
  /** No payload. Meta `room` is a string. */
  readonly Entered: MessageSchema<string, undefined, StandardSchema<{ readonly room: string }>, undefined>;
  /** Request `{ text }`, response `{ length }`. */
  readonly Measure: MessageSchema<
    string,
    StandardSchema<{ readonly text: string }>,
    undefined,
    MessageSchema<string, StandardSchema<{ readonly length: number }>, undefined, undefined>
  >;
}

export function validatorContract(library: string, { Ordered, Entered, Measure }: ValidatorMessages): void {
  describe(`schemas with ${library}`, () => {
    const serve = async () => {
      const seen: unknown[] = [];
      const router = createRouter()
        .on(Ordered, (ctx) => seen.push(ctx.payload))
        .on(Entered, (ctx) => seen.push([ctx.payload, ctx.meta.room]))
        .rpc(Measure, (ctx) => {
          if (ctx.payload.text === "lie") ctx.reply(Measure.response, { length: "3" as never });
          else if (ctx.payload.text === "more") ctx.reply(Measure.response, { length: 1, extra: 1 } as never);
          else ctx.reply(Measure.response, { length: ctx.payload.text.length });
        });
      const peer = await createTestServer(router).connect();
      const errors = () =>
        peer.frames.filter(({ type }) => type === "$ws:error").map(({ payload }) => payload as object);
      return { peer, seen, errors };
    };

    test("a valid payload reaches the handler with its defaults", async () => {
      const { peer, seen } = await serve();
      await peer.send(Ordered, { item: "rope" });
      await peer.send(Ordered, { item: "sail", count: 2 });
      expect(seen).toEqual([
        { item: "rope", count: 1 },
        { item: "sail", count: 2 },
      ]);
    });

    test.each([
      { why: "a wrong type", payload: { item: 1 }, path: "item" },
      { why: "a missing field", payload: {}, path: "item" },
      { why: "a value out of range", payload: { item: "rope", count: 0 }, path: "count" },
      { why: "no payload at all", payload: undefined, path: undefined },
      { why: "null", payload: null, path: undefined },
      { why: "an array", payload: [], path: undefined },
      { why: "a string", payload: "rope", path: undefined },
    ])("$why is refused and reaches no handler", async ({ payload, path }) => {
      const { peer, seen, errors } = await serve();
      await peer.send(Ordered, payload as never);
      expect(seen).toEqual([]);
      expect(errors()).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
      if (path !== undefined)
        expect(errors()).toMatchObject([
          { details: { issues: expect.arrayContaining([{ path, message: expect.any(String) }]) } },
        ]);
    });

    test.each(["surplus", "__proto__", "constructor", "toString"])(
      "an unknown key (%s) is refused in the payload and in the meta",
      async (key) => {
        const { peer, seen, errors } = await serve();
        await peer.sendRaw(`{"type":"${Ordered.type}","payload":{"item":"rope","${key}":{}}}`);
        await peer.sendRaw(`{"type":"${Entered.type}","meta":{"room":"a","${key}":{}}}`);
        expect(seen).toEqual([]);
        expect(errors()).toMatchObject([{ code: "INVALID_ARGUMENT" }, { code: "INVALID_ARGUMENT" }]);
      },
    );

    test("a payload on a message declared without one is refused", async () => {
      const { peer, seen, errors } = await serve();
      await peer.send(Entered, {} as never, { room: "a" });
      expect(seen).toEqual([]);
      expect(errors()).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
    });

    test("declared meta is checked beside the standard keys, after reserved keys were removed", async () => {
      const { peer, seen, errors } = await serve();
      await peer.send(Entered, undefined, { room: "a", timestamp: 1, clientId: "me", receivedAt: 1, $x: 1 });
      await peer.send(Entered, undefined, { room: 1 });
      await peer.send(Entered);
      expect(seen).toEqual([[undefined, "a"]]);
      expect(errors()).toMatchObject([{ code: "INVALID_ARGUMENT" }, { code: "INVALID_ARGUMENT" }]);
    });

    test("a request receives its typed response", async () => {
      const { peer } = await serve();
      expect(await peer.request(Measure, { text: "knot" })).toEqual({ length: 4 });
    });

    test.each(["lie", "more"])("an invalid response (%s) becomes INTERNAL and is not sent", async (text) => {
      const { peer } = await serve();
      const failure = await peer.request(Measure, { text }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(WsError);
      expect(failure).toMatchObject({ code: "INTERNAL" });
    });
  });
}
