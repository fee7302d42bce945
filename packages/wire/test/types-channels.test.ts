/** Types of channels: code that must compile and code that must not. */
import { describe, expectTypeOf, test } from "vitest";
import { joinChannel, type RoomState, wsClient } from "../src/client/index.ts";
import { useChannel, useChannelEvent } from "../src/client/react.ts";
import * as core from "../src/index.ts";
import * as valibot from "../src/valibot.ts";
import { channel, createRouter, message, z } from "../src/zod.ts";

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

interface Data {
  readonly clientId: string;
  readonly userId: string;
}

const Said = message("SAID", { text: z.string() });
const Moved = message("MOVED", { x: z.number() });
const Other = message("OTHER", { text: z.string() });
const Room = channel("room:{id}", {
  params: { id: z.string() },
  events: [Said, Moved],
  presence: { name: z.string() },
});
const Plain = channel("plain:{shard}:{id}", {
  params: { id: z.string(), shard: z.coerce.number() },
  events: [Said],
});

describe("a channel", () => {
  test("has the names in its pattern as parameters", () => {
    expectTypeOf<core.ParamsInput<typeof Room>>().toEqualTypeOf<{ id: string }>();
    expectTypeOf<core.ParamsOutput<typeof Plain>>().toEqualTypeOf<{ id: string; shard: number }>();
    neverRun(() => {
      // @ts-expect-error there is no schema for id
      channel("room:{id}", { params: { name: z.string() }, events: [Said] });
      // @ts-expect-error a date has no JSON form
      channel("room:{id}", { params: { id: z.date() }, events: [Said] });
      // @ts-expect-error there are no events
      channel("room:{id}", { params: { id: z.string() } });
      // @ts-expect-error a name is no event
      channel("lobby", { events: ["SAID"] });
      // @ts-expect-error a history has a size and a time
      channel("lobby", { events: [Said], history: { size: 5 } });
    });
  });

  test("has live events with their own types", () => {
    const Board = channel("board", { events: [Said, core.live(Moved)] });
    neverRun(() => {
      void createRouter().to(Board, {}).publish(Moved, { x: 1 });
      joinChannel(wsClient({ url: "ws://localhost" }), Board, {}).on(Moved, ({ x }) => x.toFixed());
      // @ts-expect-error x is a number
      void createRouter().to(Board, {}).publish(Moved, { x: "1" });
      // @ts-expect-error a channel is no event
      core.live(Board);
    });
  });

  test("of Valibot, or of any Standard Schema, has the same types", () => {
    const { v } = valibot;
    const ByValibot = valibot.channel("room:{id}", { params: { id: v.string() }, events: [Said] });
    expectTypeOf<core.ParamsInput<typeof ByValibot>>().toEqualTypeOf<{ id: string }>();
    const Standard = core.channel("room:{id}", {
      params: z.strictObject({ id: z.string() }),
      events: [Said],
    });
    expectTypeOf<core.ParamsInput<typeof Standard>>().toEqualTypeOf<{ id: string }>();
    neverRun(() => {
      // @ts-expect-error there is no schema for id
      valibot.channel("room:{id}", { params: { name: v.string() }, events: [Said] });
    });
  });
});

describe("router.channel", () => {
  const router = createRouter<Data>();

  test("gives hooks the connection's data and the parameters", () => {
    router.channel(Room, {
      authorize: (ctx, params) => {
        expectTypeOf(ctx.data).toEqualTypeOf<Data>();
        expectTypeOf(params).toEqualTypeOf<{ id: string }>();
        return true;
      },
      presence: (ctx) => ({ key: ctx.data.userId, name: "Ann" }),
      onJoin: (_ctx, { id }) => id.toUpperCase(),
      maxMembers: 10,
    });
    router.channel(Plain, { authorize: async (_ctx, { shard }) => ({ until: shard }) });
  });

  test("needs authorize, and presence exactly where it is declared", () => {
    neverRun(() => {
      // @ts-expect-error authorize is missing
      router.channel(Plain, {});
      // @ts-expect-error presence is missing
      router.channel(Room, { authorize: () => true });
      // @ts-expect-error name is a string
      router.channel(Room, { authorize: () => true, presence: () => ({ name: 5 }) });
      // @ts-expect-error there is no such parameter
      router.channel(Plain, { authorize: (_ctx, { room }) => room === "x" });
      // @ts-expect-error a verdict is a boolean or a time
      router.channel(Plain, { authorize: () => "yes" });
    });
  });
});

describe("publishing", () => {
  test("takes the events of the channel with their payloads, and nothing else", () => {
    neverRun(() => {
      const router = createRouter<Data>();
      const room = router.to(Room, { id: "a" });
      void room.publish(Said, { text: "x" }, { id: "once", excludeSelf: true });
      void room.publish(Moved, { x: 1 });
      // @ts-expect-error text is a string
      void room.publish(Said, { text: 5 });
      // @ts-expect-error the channel does not declare it
      void room.publish(Other, { text: "x" });
      // @ts-expect-error id is a string
      router.to(Room, { id: 5 });
      // @ts-expect-error there is no such parameter
      router.to(Room, { room: "a" });
      void router.leave({ data: { userId: "ann" } }, Room, { id: "a" });
      // @ts-expect-error there is no such data
      void router.leave({ data: { user: "ann" } }, Room, { id: "a" });
      router.on(Said, (ctx) => {
        void ctx.to(Plain, { id: "a", shard: 1 }).publish(Said, { text: "x" });
        expectTypeOf(ctx.joined(Room, { id: "a" })).toEqualTypeOf<boolean>();
        // @ts-expect-error the channel does not declare it
        void ctx.to(Plain, { id: "a", shard: 1 }).publish(Moved, { x: 1 });
      });
    });
  });
});

describe("router.route(…).in", () => {
  test("takes a channel, and its parameters from the validated payload", () => {
    const Move = message("MOVE", { board: z.string(), x: z.number() });
    neverRun(() => {
      const route = createRouter<Data>().route(Move);
      route.in(Room, ({ board }) => ({ id: board })).on((ctx) => ctx.payload.x.toFixed());
      // @ts-expect-error the payload has no such field
      route.in(Room, ({ bord }) => ({ id: bord }));
      // @ts-expect-error there is no such parameter
      route.in(Room, ({ board }) => ({ di: board }));
      // @ts-expect-error id is a string
      route.in(Room, ({ x }) => ({ id: x }));
      // @ts-expect-error a message is no channel
      route.in(Said, ({ board }) => ({ id: board }));
    });
  });
});

describe("joinChannel", () => {
  test("takes the parameters, and gives handlers the payloads of the channel's events", () => {
    neverRun(() => {
      const client = wsClient({ url: "ws://localhost" });
      const room = joinChannel(client, Room, { id: "a" }, { last: 5 });
      expectTypeOf(room.state).toEqualTypeOf<RoomState>();
      room.on(Said, (payload) => expectTypeOf(payload).toEqualTypeOf<{ text: string }>());
      // @ts-expect-error the channel does not declare it
      room.on(Other, () => undefined);
      // @ts-expect-error id is missing
      joinChannel(client, Room, {});
      // @ts-expect-error id is a string
      joinChannel(client, Room, { id: 5 });
    });
  });

  test("has the same types in React", () => {
    neverRun(() => {
      const { room, state } = useChannel(Room, { id: "a" });
      expectTypeOf(state).toEqualTypeOf<RoomState | "idle">();
      useChannel(Room, undefined);
      useChannelEvent(room, Moved, ({ x }) => expectTypeOf(x).toEqualTypeOf<number>());
      // @ts-expect-error the channel does not declare it
      useChannelEvent(room, Other, () => undefined);
      // @ts-expect-error id is missing
      useChannel(Room, {});
    });
  });
});
