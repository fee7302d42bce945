import { describe, expect, test, vi } from "vitest";
import { createTestServer, type TestConnection } from "../testing/index.ts";
import { channel, createRouter, message, rpc, z } from "../zod.ts";

const params = { id: z.string() };
const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", { params, events: [Said] });
const Say = message("SAY", { room: z.string() });
const Count = rpc("COUNT", { room: z.string() }, "COUNTED", {}, { progress: z.number() });
const Export = rpc(
  "EXPORT",
  { room: z.string() },
  "EXPORTED",
  {},
  {
    progress: z.number(),
    durable: { keepMs: 60_000 },
  },
);

async function serve() {
  const said: string[] = [];
  const router = createRouter()
    .channel(Room, { authorize: () => true })
    .route(Say)
    .in(Room, ({ room }) => ({ id: room }))
    .on((ctx) => void said.push(ctx.payload.room))
    .route(Count)
    .in(Room, ({ room }) => ({ id: room }))
    .rpc(() => ({}))
    .route(Export)
    .in(Room, ({ room }) => ({ id: room }))
    .rpc({ owner: () => "ann" }, () => ({}));
  const peer = await createTestServer(router).connect();
  return { peer, said };
}

/** Resolves to the type or the error code of the answer. */
async function ask(peer: TestConnection, type: string, id: string, payload?: object, meta = {}) {
  await peer.sendRaw(JSON.stringify({ type, meta: { correlationId: id, ...meta }, payload }));
  const answer = await vi.waitUntil(() => peer.frames.find((frame) => frame.meta["correlationId"] === id));
  return (answer.payload as { code?: string } | undefined)?.code ?? answer.type;
}
const control = (peer: TestConnection, type: string) =>
  ask(peer, type, type, { channel: "room:{id}", params: { id: "a" } });

describe("router.route(…).in(channel, …)", () => {
  test("refuses events of connections that are not members, with an error that names the channel", async () => {
    const { peer, said } = await serve();
    await peer.send(Say, { room: "a" });
    expect(peer.frames.at(-1)?.payload).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringMatching(/"room:\{id\}".*SAY.*joinChannel\(\)/),
    });
    await control(peer, "$ws:join");
    await peer.send(Say, { room: "a" });
    await peer.send(Say, { room: "b" });
    expect(said).toEqual(["a"]);
  });

  test("refuses a request that claims to read a call, because only durable calls can be read", async () => {
    const { peer } = await serve();
    const meta = { $c: 64, $k: { id: "c1", after: 0 } };
    expect(await ask(peer, "COUNT", "1", { room: "a" }, meta)).toBe("PERMISSION_DENIED");
  });

  test("lets only members start a durable call, and its owner read it later", async () => {
    const { peer } = await serve();
    const start = (id: string) => ask(peer, "EXPORT", id, { room: "a" }, { $c: 64, $k: { id: "call" } });
    const read = (id: string) => ask(peer, "EXPORT", id, undefined, { $c: 64, $k: { id: "call", after: 0 } });
    expect(await start("1")).toBe("PERMISSION_DENIED");
    await control(peer, "$ws:join");
    expect(await start("2")).toBe("EXPORTED");
    await control(peer, "$ws:leave");
    expect(await start("3")).toBe("PERMISSION_DENIED");
    expect(await read("4")).toBe("EXPORTED");
  });

  test("warns once in development about a channel that is not registered, because it refuses every caller", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const create = () =>
      createRouter()
        .route(Say)
        .in(Room, ({ room }) => ({ id: room }))
        .on(() => undefined);
    const peer = await createTestServer(create()).connect();
    await peer.send(Say, { room: "a" });
    await peer.send(Say, { room: "a" });
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/"room:\{id\}" is not registered.*router\.channel\(\)/)],
    ]);
    vi.stubEnv("NODE_ENV", "production");
    await (await createTestServer(create()).connect()).send(Say, { room: "a" });
    expect(warn).toHaveBeenCalledOnce();
    vi.unstubAllEnvs();
    warn.mockRestore();
  });

  test("needs a channel and a function", () => {
    const route = createRouter().route(Say);
    expect(() => route.in(Room, {} as never)).toThrow(/route\(SAY\)\.in\(\)/);
    expect(() => route.in("room" as never, (() => ({})) as never)).toThrow(/needs a channel/);
  });
});
