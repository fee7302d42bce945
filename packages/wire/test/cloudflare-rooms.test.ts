import { startWorker, type Worker } from "@halyard/services/worker";
import { type WsClient, wsClient } from "@halyard/wire/client";
import { createRoomRoutes, type RoomRoutesOptions } from "@halyard/wire/cloudflare";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Said, Say } from "./fixtures/rooms-worker.ts";

let worker: Worker;
const clients: WsClient[] = [];

beforeAll(async () => {
  worker = await startWorker({
    entry: new URL("fixtures/rooms-worker.ts", import.meta.url).pathname,
    durableObjects: { ROOM: "Room", MIRROR: "Mirror" },
  });
});
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));
afterAll(() => worker.stop());

/** The request that the object at that URL received. */
function mirrored(
  path: string,
  protocols: readonly string[] = [],
  headers: Record<string, string> = {},
): Promise<{ name: string; url: string; headers: Record<string, string> }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${worker.url}${path}`, [...protocols], { headers });
    socket.on("error", reject);
    socket.on("message", (data) => {
      socket.terminate();
      resolve(JSON.parse(String(data)));
    });
  });
}

/** The status and text with which an upgrade without a subprotocol is refused. */
function refusal(path: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${worker.url}${path}`);
    socket.on("error", reject);
    socket.on("open", () => reject(new Error("The upgrade was taken.")));
    socket.on("unexpected-response", (_request, response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += String(chunk);
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
  });
}

async function enter(room: string): Promise<{ client: WsClient; texts: string[] }> {
  const client = wsClient({ url: `${worker.url}/rooms/${room}` });
  clients.push(client);
  const texts: string[] = [];
  client.on(Said, ({ text }) => texts.push(text));
  await client.connect();
  return { client, texts };
}

describe("an upgrade", () => {
  test("goes to the object of its room, and a client receives the messages of its room and of no other", async () => {
    const names = Array.from({ length: 30 }, (_, at) => `room-${at}`);
    const pairs = await Promise.all(names.map((name) => Promise.all([enter(name), enter(name)])));
    await Promise.all(pairs.map(([{ client }], at) => client.request(Say, { text: `in ${names[at]}` })));
    // A later response proves that everything before it has arrived.
    await Promise.all(pairs.map(([, { client }]) => client.request(Say, { text: "last" })));
    await expect
      .poll(() => pairs.map((pair) => pair.map(({ texts }) => texts)))
      .toEqual(names.map((name) => Array(2).fill([`in ${name}`, "last"])));
  });

  test("reaches the object unchanged: address, query, subprotocols, Origin, cookies", async () => {
    const path = "/mirrors/a%3Ab/ws?access_token=t&x=%20";
    const there = await mirrored(path, ["halyard.v1.json", "bearer.token"], {
      origin: "https://app.example.com",
      cookie: "session=1",
    });
    expect(there.name).toBe("a:b");
    expect(there.url).toBe(`${worker.url.replace("ws:", "http:")}${path}`);
    expect(there.headers).toMatchObject({
      upgrade: "websocket",
      origin: "https://app.example.com",
      cookie: "session=1",
      "sec-websocket-protocol": "halyard.v1.json,bearer.token",
    });
  });

  test("may take its room from elsewhere than the path, and its object by another name", async () => {
    expect((await mirrored("/socket?room=den&shard=3")).name).toBe("den#3");
    expect((await mirrored("/socket")).name).toBe("lobby#0");
  });
});

describe("a room name", () => {
  test.each([
    ["characters outside the pattern", "/rooms/a%20b"],
    ["an encoded slash", "/rooms/a%2Fb"],
    ["a line break at its end", "/rooms/ab%0A"],
    ["no characters", "/rooms/"],
    ["an incomplete character", "/rooms/%FF"],
    ["65 characters", `/rooms/${"a".repeat(65)}`],
    ["characters before the matching part", "/known/1open"],
    ["more than 256 characters, even if the pattern allows them", `/known/${"a".repeat(257)}`],
  ])("with %s is refused with 400", async (_what, path) => {
    expect(await refusal(path)).toEqual({ status: 400, text: "this is not a valid room name\n" });
  });

  test("that is valid but unknown is refused with 404 every time", async () => {
    expect(await refusal("/known/shut")).toEqual({ status: 404, text: "the room does not exist\n" });
    for (let times = 0; times < 3; times++) expect((await mirrored("/known/open")).name).toBe("open");
  });

  test("that is refused closes a client, which does not try again", async () => {
    for (const path of ["/rooms/a%20b", "/known/shut"]) {
      const client = wsClient({ url: `${worker.url}${path}` });
      clients.push(client);
      await expect(client.connect()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
      expect(client.state).toBe("closed");
    }
  });
});

describe("a request", () => {
  const get = (path: string) => fetch(`${worker.url.replace("ws:", "http:")}${path}`);

  test("for a room that is not an upgrade is answered with 426", async () => {
    expect((await get("/rooms/general")).status).toBe(426);
  });

  test.each(["/", "/rooms", "/rooms/a/b", "/mirrors/a", "/mirrors/a/WS", "//rooms/a"])(
    "for %s is left to the worker",
    async (path) => {
      const response = await get(path);
      expect([response.status, await response.text()]).toEqual([404, "not for a room: undefined"]);
    },
  );
});

describe("routes", () => {
  test("return the room of a request, also inside the object", () => {
    const rooms = createRoomRoutes({ path: "/teams/:room/socket" });
    const of = (path: string) => rooms.roomOf(new Request(`https://app.example.com${path}`));
    expect([of("/teams/red/socket?x=1"), of("/teams/red"), of("/teams/r%20d/socket")]).toEqual([
      "red",
      undefined,
      undefined,
    ]);
  });

  test("accept a path as written and match it in its encoded form", () => {
    const rooms = createRoomRoutes({ path: "/rum för båtar/:room" });
    expect(rooms.roomOf(new Request("https://app.example.com/rum för båtar/kajen"))).toBe("kajen");
  });

  test.each<[string, RoomRoutesOptions]>([
    ["without a place for the room", { path: "/rooms" }],
    ["with two places for the room", { path: "/:room/:room" }],
    ["with other variables", { path: "/:team/:room" }],
    ["with a part of a segment", { path: "/room-:room" }],
    ["that is not a pathname", { path: "rooms/:room" }],
    ["with a query", { path: "/rooms/:room?token=" }],
  ])("throw for a path %s when they are created", (_what, options) => {
    expect(() => createRoomRoutes(options)).toThrow(TypeError);
  });
});
