import { describe, expect, test } from "vitest";
import type { Peer } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("the heartbeat option, with $name", ({ createRouter }) => {
  test("the heartbeat is opt-in: without it nobody is pinged or given up, and hello says 0 [Router options: heartbeat]", async () => {
    const server = createTestServer(createRouter());
    const peer = await server.connect();
    await server.clock.advance(600_000);
    expect(peer.pings).toBe(0);
    expect(peer.closedWith).toBeUndefined();
    expect(peer.frames[0]?.payload).toMatchObject({ heartbeatMs: 0, timeoutMs: 5_000 });
  });

  test("a connection silent for 30,000 ms is pinged, and given up 5,000 ms later [Router options: heartbeat; Limits: heartbeat]", async () => {
    const server = createTestServer(createRouter({ heartbeat: {} }));
    const peer = await server.connect();
    expect(peer.frames[0]?.payload).toMatchObject({ heartbeatMs: 30_000, timeoutMs: 5_000 });
    await server.clock.advance(29_999);
    expect(peer.pings).toBe(0);
    // Connections are looked at every half second.
    await server.clock.advance(600);
    expect(peer.pings).toBe(1);
    await server.clock.advance(4_400);
    expect(peer.closedWith).toBeUndefined();
    await server.clock.advance(1_200);
    expect(peer.closedWith).toMatchObject({ code: 4408 });
  });

  test("intervalMs and timeoutMs may be set, and hello tells them [Router options: heartbeat]", async () => {
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

  test("onStaleConnection gets the clientId and the connection, once, and onClose the code 4408 [Router options: heartbeat]", async () => {
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

  test("a pong, and any inbound frame, counts as life [Finer points: Close]", async () => {
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
