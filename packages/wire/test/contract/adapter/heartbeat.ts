/** The heartbeat closes dead peers and keeps live ones. */
import { describe, test } from "vitest";
import { PATIENCE_MS } from "../../fixtures/patience.ts";
import { connect, greeted, type Peer } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function heartbeatTests(suite: Suite): void {
  describe.concurrent("the heartbeat", () => {
    const server = suite.serving("watched");
    const stalling = suite.serving("stalling");
    const leisurely = suite.serving("watched-at-leisure");

    test("announces its settings in hello", async ({ expect }) => {
      const peer = await connect(server().url, { protocols: ["halyard.v1.json"] });
      expect((await peer.next()).payload).toMatchObject({ heartbeatMs: 400, timeoutMs: 3_000 });
    });

    test("keeps a silent peer that answers pings", async ({ expect }) => {
      const peer = await greeted(server().url);
      await expect.poll(() => peer.pings, POLL).toBeGreaterThanOrEqual(3);
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });

    test("does not ping a peer that sends frames", async ({ expect }) => {
      const peer = await greeted(leisurely().url);
      // Longer than the interval, with pauses far shorter than it.
      for (let i = 0; i < 60; i++) await peer.request("PAUSE", { ms: 50 });
      expect(peer.pings).toBe(0);
    });

    test("reports a peer that answers nothing as stale and closes it with 4408", async ({ expect }) => {
      // Taken first, because the server counts from before hello arrives here.
      const startedAt = performance.now();
      const peer = await greeted(server().url, { autoPong: false });
      expect(await peer.closed).toMatchObject({ code: 4408 });
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(3_350);
      expect(performance.now() - startedAt).toBeLessThan(4_400 + PATIENCE_MS);
      const { clientId } = peer;
      await expect
        .poll(() => readLog(server().url, clientId), POLL)
        .toMatchObject([
          { what: "router open" },
          { what: "stale", same: true },
          { what: "router close", code: 4408 },
        ]);
    });

    test("keeps peers that answered while the event loop of the server was stalled, and closes one that did not", async ({
      expect,
    }) => {
      const { url } = stalling();
      const peers = await Promise.all(Array.from({ length: 20 }, () => greeted(url)));
      const silent = await greeted(url, { autoPong: false });
      const [first] = peers;
      first?.send("STALL", { ms: 1_200, times: 4 });
      expect(await silent.closed).toMatchObject({ code: 4408 });
      for (const peer of peers)
        expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });

    test.for([
      { what: "a message", live: (peer: Peer) => peer.request("GREET", { name: "Ada" }) },
      { what: "a WebSocket ping", live: (peer: Peer) => peer.ping() },
      { what: "a malformed frame", live: async (peer: Peer) => peer.sendRaw("{") },
    ])(
      "counts $what as a sign of life, even from a peer that answers no pings",
      async ({ live }, { expect }) => {
        const peer = await greeted(server().url, { autoPong: false });
        for (let pings = 1; pings <= 3; pings++) {
          await expect.poll(() => peer.pings, POLL).toBeGreaterThanOrEqual(pings);
          await live(peer);
        }
        expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
      },
    );
  });
}
