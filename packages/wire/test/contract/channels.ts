/** The contract of channels on every platform, over every broker. Clients are real; two servers share the broker. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type JoinOptions, joinChannel, type WsClient, wsClient } from "../../src/client/zod.ts";
import {
  CHANNELS,
  type ChannelName,
  Crowd,
  Hooks,
  IsMember,
  Move,
  Moved,
  Publish,
  Remove,
  Rename,
  Said,
  Whisper,
} from "../fixtures/channels/app.ts";

const POLL = { timeout: 10_000, interval: 10 };

export interface ChannelServers {
  /** Two servers that share a broker, or one of them twice. */
  readonly urls: readonly [string, string];
  stop(): Promise<unknown>;
}

interface Guest {
  readonly client: WsClient;
  /** The connection breaks, without a close frame. */
  cut(): void;
  /** While false, connections fail. */
  isAllowed: boolean;
  join(name: ChannelName, id: string, options?: JoinOptions): Member;
  publish(name: ChannelName, id: string, ...texts: string[]): Promise<unknown>;
}

interface Member {
  readonly room: ReturnType<typeof joinChannel<(typeof CHANNELS)[ChannelName]>>;
  /** Texts of messages, and "gap". */
  readonly got: string[];
}

/** `history` is false for a broker that keeps none. */
export function channelContract(
  platform: string,
  start: () => Promise<ChannelServers>,
  { history = true }: { readonly history?: boolean } = {},
): void {
  describe(`channels on ${platform}`, () => {
    let servers: ChannelServers;
    let rooms = 0;
    const clients: WsClient[] = [];
    const newRoom = (prefix = "room") => `${prefix}-${++rooms}`;
    beforeAll(async () => {
      servers = await start();
    });
    afterAll(() => servers.stop());
    afterEach(async () => {
      await Promise.all(clients.splice(0).map((client) => client.close()));
    });

    async function guest(user: string, at: 0 | 1 = 0): Promise<Guest> {
      let socket: WebSocket | undefined;
      const client = wsClient({
        url: `${servers.urls[at]}/?user=${user}`,
        reconnect: { initialDelayMs: 20, maxDelayMs: 100 },
        wsFactory: (url, protocols) => {
          socket = new WebSocket(self.isAllowed ? url : "ws://127.0.0.1:1", protocols);
          return socket;
        },
      });
      client.onError(() => undefined);
      clients.push(client);
      const self: Guest = {
        client,
        isAllowed: true,
        cut: () => socket?.terminate(),
        join(name, id, options) {
          const room = joinChannel(client, CHANNELS[name], { id }, options);
          const got: string[] = [];
          room.on(Said, ({ text }) => got.push(text));
          room.onGap(() => got.push("gap"));
          return { room, got };
        },
        publish: (name, id, ...texts) => client.request(Publish, { name, id, texts }),
      };
      await client.connect();
      return self;
    }

    const kinds: ChannelName[] = history ? ["plain", "kept"] : ["plain"];
    describe.each(kinds)("%s", (name) => {
      test("a member gets what both servers publish, in order, and other rooms do not", async () => {
        const [id, other] = [newRoom(), newRoom()];
        const [ann, ben] = [await guest("ann", 0), await guest("ben", 1)];
        const [here, there, elsewhere] = [ann.join(name, id), ben.join(name, id), ben.join(name, other)];
        for (const { room } of [here, there, elsewhere]) await room.joined;
        const texts = Array.from({ length: 30 }, (_, i) => String(i));
        await ann.publish(name, id, ...texts);
        await ben.publish(name, id, "end");
        for (const { got } of [here, there]) await expect.poll(() => got.at(-1), POLL).toBe("end");
        expect([here.got, there.got, elsewhere.got]).toEqual([[...texts, "end"], [...texts, "end"], []]);
      });

      test("authorize refuses a client, which gets nothing and does not try again", async () => {
        const id = newRoom("members-only");
        const [ann, eve] = [await guest("ann"), await guest("eve")];
        const [allowed, refused] = [ann.join(name, id), eve.join(name, id, { last: 5 })];
        await allowed.room.joined;
        await expect(refused.room.joined).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
        expect(refused.room.state).toBe("refused");
        eve.cut();
        await expect.poll(() => eve.client.state, POLL).toBe("open");
        await ann.publish(name, id, "secret");
        await expect.poll(() => allowed.got, POLL).toEqual(["secret"]);
        await eve.client.request(IsMember, { name, id });
        expect([refused.room.state, refused.got]).toEqual(["refused", []]);
      });

      test("a client retries a join for which authorize throws", async () => {
        const id = newRoom("broken");
        const ann = await guest("ann");
        const { room } = ann.join(name, id);
        await room.joined;
        expect((await ann.client.request(IsMember, { name, id })).payload.isMember).toBe(true);
      });

      test("a client that left gets nothing, runs onLeave once, and can join again", async () => {
        const id = newRoom();
        const ann = await guest("ann");
        const first = ann.join(name, id);
        await first.room.joined;
        first.room.leave();
        await expect
          .poll(async () => (await ann.client.request(IsMember, { name, id })).payload.isMember, POLL)
          .toBe(false);
        await ann.publish(name, id, "without");
        const second = ann.join(name, id);
        await second.room.joined;
        await ann.publish(name, id, "with");
        await expect.poll(() => second.got, POLL).toEqual(["with"]);
        expect([first.got, first.room.state]).toEqual([[], "left"]);
        const { entries } = (await ann.client.request(Hooks, { id })).payload;
        expect(entries).toEqual([`${id}: ann joined`, `${id}: ann left`, `${id}: ann joined`]);
      });

      test("router.leave ends memberships of matching connections on both servers, and no others", async () => {
        const id = newRoom();
        const [ann, twin, ben] = [await guest("ann", 0), await guest("ann", 1), await guest("ben", 1)];
        const members = [ann.join(name, id), twin.join(name, id), ben.join(name, id)];
        for (const { room } of members) await room.joined;
        await ben.client.request(Remove, { name, id, userId: "ann" });
        await expect
          .poll(() => members.map(({ room }) => room.state), POLL)
          .toEqual(["left", "left", "joined"]);
        await ben.publish(name, id, "after");
        await expect.poll(() => members.map(({ got }) => got), POLL).toEqual([[], [], ["after"]]);
        expect(ann.client.state).toBe("open");
      });

      test("an event that is declared as live reaches the members on both servers", async () => {
        const id = newRoom();
        const [ann, ben] = [await guest("ann", 0), await guest("ben", 1)];
        const [mine, theirs]: [number[], number[]] = [[], []];
        for (const [by, seen] of [
          [ann, mine],
          [ben, theirs],
        ] as const) {
          const { room } = by.join(name, id);
          room.on(Moved, ({ x }) => seen.push(x));
          await room.joined;
        }
        await ann.client.request(Move, { name, id, count: 2, excludeSelf: true });
        await ben.client.request(Move, { name, id, count: 1 });
        await expect.poll(() => [mine, theirs], POLL).toEqual([[1], [1, 2, 1]]);
      });

      test("excludeSelf reaches every member but the publisher", async () => {
        const id = newRoom();
        const [ann, ben] = [await guest("ann", 0), await guest("ben", 1)];
        const [mine, theirs] = [ann.join(name, id), ben.join(name, id)];
        for (const { room } of [mine, theirs]) await room.joined;
        await ann.client.request(Publish, { name, id, texts: ["from ann"], excludeSelf: true });
        await ben.publish(name, id, "end");
        for (const { got } of [mine, theirs]) await expect.poll(() => got.at(-1), POLL).toBe("end");
        expect([mine.got, theirs.got]).toEqual([["end"], ["from ann", "end"]]);
      });
    });

    test("without history, a member that was cut off joins again, and is told that messages may be missing", async () => {
      const id = newRoom();
      const [ann, ben] = [await guest("ann"), await guest("ben", 1)];
      const { room, got } = ann.join("plain", id);
      await room.joined;
      ann.cut();
      await expect.poll(() => got, POLL).toEqual(["gap"]);
      await ben.publish("plain", id, "after");
      await expect.poll(() => got, POLL).toEqual(["gap", "after"]);
    });

    test("a message that is only for members reaches its handler only from a member", async () => {
      const id = newRoom();
      const ann = await guest("ann");
      const whisper = () => ann.client.request(Whisper, { name: "plain", id });
      const refused = { code: "PERMISSION_DENIED", message: expect.stringContaining("plain:{id}") };
      await expect(whisper()).rejects.toMatchObject(refused);
      const { room } = ann.join("plain", id);
      await whisper();
      room.leave();
      await expect(whisper()).rejects.toMatchObject(refused);
    });

    describe("with presence", () => {
      async function enter(client: WsClient, id: string) {
        const room = joinChannel(client, Crowd, { id });
        await room.joined;
        const keysOf = (members: readonly { readonly key: string }[]) =>
          members
            .map(({ key }) => key)
            .sort()
            .join();
        const shown: string[] = [];
        room.onMembers((members) => shown.push(keysOf(members)));
        return { room, shown, keys: () => keysOf(room.members) };
      }

      test("members of both servers see each other, and one key is one member", async () => {
        const id = newRoom();
        const [ann, ben, twin] = [await guest("ann", 0), await guest("ben", 1), await guest("ann", 1)];
        const here = await enter(ann.client, id);
        const there = await enter(ben.client, id);
        for (const { keys } of [here, there]) await expect.poll(keys, POLL).toBe("ann,ben");
        expect(there.room.members).toContainEqual({ key: "ann", name: "Name of ann" });
        const second = await enter(twin.client, id);
        await expect.poll(second.keys, POLL).toBe("ann,ben");
        const before = there.shown.length;
        here.room.leave();
        const cas = await enter((await guest("cas", 0)).client, id);
        await expect.poll(there.keys, POLL).toBe("ann,ben,cas");
        expect(there.shown.slice(before).every((keys) => keys.includes("ann"))).toBe(true);
        second.room.leave();
        for (const { keys } of [there, cas]) await expect.poll(keys, POLL).toBe("ben,cas");
        expect((await there.room.memberPage({ limit: 1 })).next).toBe("ben");
      });

      test("ctx.assignData changes what the members of both servers see", async () => {
        const id = newRoom();
        const [ann, ben] = [await guest("ann", 0), await guest("ben", 1)];
        await enter(ann.client, id);
        const { room } = await enter(ben.client, id);
        await expect.poll(() => room.members.length, POLL).toBe(2);
        await ann.client.request(Rename, { names: ["Annette", "Anna"] });
        await expect.poll(() => room.members, POLL).toContainEqual({ key: "ann", name: "Anna" });
      });

      test("a member that is cut off and returns in time was never away; one that does not return leaves", async () => {
        const id = newRoom();
        const [ann, ben] = [await guest("ann", 0), await guest("ben", 1)];
        const [watcher, cut] = [await enter(ann.client, id), await enter(ben.client, id)];
        await expect.poll(watcher.keys, POLL).toBe("ann,ben");
        const before = watcher.shown.length;
        const states: string[] = [];
        cut.room.onState((state) => states.push(state));
        ben.cut();
        await expect.poll(() => states, POLL).toEqual(["joining", "joined"]);
        const cas = await enter((await guest("cas", 1)).client, id);
        await expect.poll(watcher.keys, POLL).toBe("ann,ben,cas");
        expect(watcher.shown.slice(before).every((keys) => keys.includes("ben"))).toBe(true);
        ben.isAllowed = false;
        ben.cut();
        for (const { keys } of [watcher, cas]) await expect.poll(keys, POLL).toBe("ann,cas");
      });
    });

    if (history)
      describe("with history", () => {
        test("a member that was cut off before it received anything misses nothing", async () => {
          const id = newRoom();
          const [ann, ben] = [await guest("ann"), await guest("ben", 1)];
          const { room, got } = ann.join("kept", id);
          await room.joined;
          ann.isAllowed = false;
          ann.cut();
          await expect.poll(() => ann.client.state, POLL).toBe("reconnecting");
          await ben.publish("kept", id, "1", "2", "3");
          ann.isAllowed = true;
          await expect.poll(() => got, POLL).toEqual(["1", "2", "3"]);
        });

        test("a member that is cut off again and again gets each message once, in order", async () => {
          const id = newRoom();
          const [ann, ben] = [await guest("ann"), await guest("ben", 1)];
          const { room, got } = ann.join("kept", id);
          await room.joined;
          // Not more than the 50 that are kept, however long a reconnection takes.
          const texts = Array.from({ length: 48 }, (_, i) => String(i));
          for (const [i, text] of texts.entries()) {
            if (i % 12 === 7) {
              await expect.poll(() => room.state, POLL).toBe("joined");
              ann.cut();
            }
            await ben.publish("kept", id, text);
          }
          await expect.poll(() => got.at(-1), POLL).toBe("47");
          expect(got).toEqual(texts);
        });

        test("more messages than are kept are a gap, before the next message", async () => {
          const id = newRoom();
          const [ann, ben] = [await guest("ann"), await guest("ben", 1)];
          const { room, got } = ann.join("kept", id);
          await room.joined;
          await ben.publish("kept", id, "first");
          await expect.poll(() => got, POLL).toEqual(["first"]);
          ann.isAllowed = false;
          ann.cut();
          await expect.poll(() => ann.client.state, POLL).toBe("reconnecting");
          await ben.publish("kept", id, ...Array.from({ length: 300 }, (_, i) => String(i)));
          ann.isAllowed = true;
          await expect.poll(() => got.at(-1), POLL).toBe("299");
          expect(got.slice(0, 2)).toEqual(["first", "gap"]);
          expect(got.filter((text) => text === "gap")).toHaveLength(1);
          const kept = got.slice(2).map(Number);
          expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => 300 - kept.length + i));
        });

        test("live events are not kept: they displace no message, and a member that missed them sees no gap", async () => {
          const id = newRoom();
          const [ann, ben] = [await guest("ann"), await guest("ben", 1)];
          const { room, got } = ann.join("kept", id);
          room.on(Moved, ({ x }) => got.push(`moved ${x}`));
          await room.joined;
          await ben.publish("kept", id, "1");
          await expect.poll(() => got, POLL).toEqual(["1"]);
          await ben.client.request(Move, { name: "kept", id, count: 1 });
          await expect.poll(() => got, POLL).toEqual(["1", "moved 1"]);
          ann.isAllowed = false;
          ann.cut();
          await expect.poll(() => ann.client.state, POLL).toBe("reconnecting");
          // More than the 50 messages that are kept.
          await ben.client.request(Move, { name: "kept", id, count: 60 });
          await ben.publish("kept", id, "2");
          ann.isAllowed = true;
          await expect.poll(() => got, POLL).toEqual(["1", "moved 1", "2"]);
          const late = (await guest("cas")).join("kept", id, { last: 50 });
          await expect.poll(() => late.got, POLL).toEqual(["1", "2"]);
        });

        test("last gives a new member the newest messages before live ones", async () => {
          const id = newRoom();
          const [ann, ben] = [await guest("ann"), await guest("ben", 1)];
          await ben.publish("kept", id, "1", "2", "3", "4");
          const { room, got } = ann.join("kept", id, { last: 2 });
          await room.joined;
          await ben.publish("kept", id, "live");
          await expect.poll(() => got, POLL).toEqual(["3", "4", "live"]);
        });

        test("a publish with an id is delivered once, however often it is repeated", async () => {
          const id = newRoom();
          const ann = await guest("ann");
          const { room, got } = ann.join("kept", id);
          await room.joined;
          for (let i = 0; i < 3; i++)
            await ann.client.request(Publish, { name: "kept", id, texts: ["once"], key: "order-17" });
          await ann.publish("kept", id, "end");
          await expect.poll(() => got, POLL).toEqual(["once", "end"]);
        });
      });
  });
}
