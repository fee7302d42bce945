import { describe, expect, test } from "vitest";
import type { Peer } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("protocol: Liveness ($name)", ({ createRouter }) => {
  test("the heartbeat is off by default: the server pings and closes no connection, and hello announces an interval of 0", async () => {
    const server = createTestServer(createRouter());
    const peer = await server.connect();
    await server.clock.advance(600_000);
    expect(peer.pings).toBe(0);
    expect(peer.closedWith).toBeUndefined();
    expect(peer.frames[0]?.payload).toMatchObject({ heartbeatMs: 0, timeoutMs: 5_000 });
  });

  test("the server pings a connection that is silent for 30,000 ms and closes it 5,000 ms later", async () => {
    const server = createTestServer(createRouter({ heartbeat: {} }));
    const peer = await server.connect();
    expect(peer.frames[0]?.payload).toMatchObject({ heartbeatMs: 30_000, timeoutMs: 5_000 });
    await server.clock.advance(29_999);
    expect(peer.pings).toBe(0);
    // The server checks its connections every 500 ms.
    await server.clock.advance(600);
    expect(peer.pings).toBe(1);
    await server.clock.advance(4_400);
    expect(peer.closedWith).toBeUndefined();
    await server.clock.advance(1_200);
    expect(peer.closedWith).toMatchObject({ code: 4408 });
  });

  test("intervalMs and timeoutMs can be set, and hello announces them", async () => {
    const server = createTestServer(createRouter({ heartbeat: { intervalMs: 1_000, timeoutMs: 200 } }));
    const peer = await server.connect();
    expect(peer.frames[0]?.payload).toMatchObject({ heartbeatMs: 1_000, timeoutMs: 200 });
    await server.clock.advance(999);
    expect(peer.pings).toBe(0);
    await server.clock.advance(150);
    expect(peer.pings).toBe(1);
    await server.clock.advance(350);
    expect(peer.closedWith).toMatchObject({ code: 4408 });
  });

  test("onStaleConnection receives the clientId and the connection once, and onClose receives the code 4408", async () => {
    const stale: [string, Peer][] = [];
    const closed: [Peer, number][] = [];
    const onStaleConnection = (clientId: string, ws: Peer) => stale.push([clientId, ws]);
    const router = createRouter({ heartbeat: { intervalMs: 1_000, timeoutMs: 200, onStaleConnection } });
    router.onClose((ctx) => closed.push([ctx.ws, ctx.code]));
    const server = createTestServer(router);
    await server.connect();
    await server.clock.advance(5_000);
    const [[clientId, ws] = []] = stale;
    expect(stale).toHaveLength(1);
    expect(clientId).toBe(ws?.clientId);
    expect(closed).toEqual([[ws, 4408]]);
  });

  test("a pong or any other inbound frame keeps the connection open", async () => {
    const server = createTestServer(createRouter({ heartbeat: { intervalMs: 1_000, timeoutMs: 500 } }));
    const [ponging, talking, silent] = [
      await server.connect(),
      await server.connect(),
      await server.connect(),
    ];
    for (let elapsed = 0; elapsed < 5_000; elapsed += 250) {
      await server.clock.advance(250);
      ponging.pong();
      await sendFrame(talking, { type: "$ws:ping" });
    }
    expect([ponging, talking, silent].map((peer) => peer.closedWith?.code)).toEqual([
      undefined,
      undefined,
      4408,
    ]);
  });
});
