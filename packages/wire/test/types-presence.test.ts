/** Types of presence: code that must compile and code that must not. */
import { describe, expectTypeOf, test } from "vitest";
import { joinChannel, wsClient } from "../src/client/index.ts";
import { useChannel } from "../src/client/react.ts";
import type { Member, MemberPage } from "../src/index.ts";
import * as valibot from "../src/valibot.ts";
import { channel, createRouter, message, z } from "../src/zod.ts";

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", {
  params: { id: z.string() },
  events: [Said],
  presence: { name: z.string(), age: z.coerce.number() },
});
const Plain = channel("plain", { events: [Said] });

interface Shown {
  readonly key: string;
  readonly name: string;
  readonly age: number;
}

describe("a member", () => {
  test("has a key and what the schema gives, on both ends", () => {
    expectTypeOf<Member<typeof Room>>().toExtend<Shown>();
    expectTypeOf<Shown>().toExtend<Member<typeof Room>>();
    const { v } = valibot;
    const ByValibot = valibot.channel("lobby", { events: [Said], presence: { name: v.string() } });
    expectTypeOf<Member<typeof ByValibot>>().toExtend<{ key: string; name: string }>();
    neverRun(async () => {
      const client = wsClient({ url: "ws://localhost" });
      const room = joinChannel(client, Room, { id: "1" });
      for (const { key, age } of room.members)
        expectTypeOf([key, age]).toExtend<[string, number] | unknown[]>();
      room.onMembers((members) => members[0]?.name.toUpperCase());
      expectTypeOf(await room.memberPage({ limit: 5 })).toEqualTypeOf<MemberPage<Member<typeof Room>>>();
      expectTypeOf(useChannel(Room, { id: "1" }).members).toEqualTypeOf<readonly Member<typeof Room>[]>();
      const members = await createRouter().to(Room, { id: "1" }).members();
      expectTypeOf(members).toEqualTypeOf<readonly Member<typeof Room>[]>();
      // @ts-expect-error members do not show this
      room.members[0]?.mail;
      // @ts-expect-error members are not changed by hand
      room.members.push({ key: "k", name: "x", age: 1 });
      // @ts-expect-error this channel has no members
      (await createRouter().to(Plain, {}).members())[0].key;
    });
  });

  test("is what the server returns, as the schema takes it", () => {
    const router = createRouter<{ clientId: string; userId: string }>();
    neverRun(() => {
      router.channel(Room, {
        authorize: () => true,
        presence: (ctx, { id }) => ({ key: ctx.data.userId, name: id, age: "5" }),
        leaveGraceMs: 1_000,
      });
      // @ts-expect-error the age is missing
      router.channel(Room, { authorize: () => true, presence: () => ({ key: "k", name: "x" }) });
      // @ts-expect-error a key is a string
      router.channel(Room, { authorize: () => true, presence: () => ({ key: 5, name: "x", age: 1 }) });
    });
  });
});
