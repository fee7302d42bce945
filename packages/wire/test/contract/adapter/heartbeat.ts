/** Dead peers are found, live ones left alone. */
import { describe, test } from "vitest";
import { PATIENCE_MS } from "../../fixtures/patience.ts";
import { connect, greeted, type Peer } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function heartbeatTests(suite: Suite): void {
  describe.concurrent("heartbeat", () => {
    const server = suite.serving("watched");
    const leisurely = suite.serving("watched-at-leisure");

    test("its settings are told in the greeting", async ({ expect }) => {
      const peer = await connect(server().url, { protocols: ["halyard.v1.json"] });
      expect((await peer.next()).payload).toMatchObject({ heartbeatMs: 400, timeoutMs: 3_000 });
    });

    test("a silent peer that answers pings stays", async ({ expect }) => {
      const peer = await greeted(server().url);
      await expect.poll(() => peer.pings, POLL).toBeGreaterThanOrEqual(3);
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });

    test("a peer that sends frames is not pinged", async ({ expect }) => {
      const peer = await greeted(leisurely().url);
      // For longer than the interval, with pauses far shorter than it.
      for (let i = 0; i < 60; i++) await peer.request("PAUSE", { ms: 50 });
      expect(peer.pings).toBe(0);
    });

    test("a peer that answers nothing is reported stale and closed with 4408", async ({ expect }) => {
      // Taken first: the server counts from before the greeting arrives here.
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

    test.for([
      { what: "a message", live: (peer: Peer) => peer.request("GREET", { name: "Ada" }) },
      { what: "a WebSocket ping", live: (peer: Peer) => peer.ping() },
      { what: "a frame that cannot be read", live: async (peer: Peer) => peer.sendRaw("{") },
    ])("$what is a sign of life, even from a peer that answers no pings", async ({ live }, { expect }) => {
      const peer = await greeted(server().url, { autoPong: false });
      for (let pings = 1; pings <= 3; pings++) {
        await expect.poll(() => peer.pings, POLL).toBeGreaterThanOrEqual(pings);
        await live(peer);
      }
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });
  });
}
