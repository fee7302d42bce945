/** The end of a server by drain, stop or signal. No accepted request is lost. */
import { describe, test, vi } from "vitest";
import { PATIENCE_MS } from "../../fixtures/patience.ts";
import { connect, greeted, HALYARD, handshake } from "./peer.ts";
import { POLL, type RunningServer, type Suite } from "./suite.ts";

const RETRY_AFTER = /^retryAfterMs=\d+$/;

export function shutdownTests(suite: Suite): void {
  describe.concurrent("the shutdown of a server", () => {
    const ended = (server: RunningServer, how: string) =>
      vi.waitUntil(() => server.process?.output().includes(`{"ended":"${how}"`), POLL);

    test("by drain notifies every client, answers pending requests, closes with 1012 and frees the port", async ({
      expect,
    }) => {
      const server = await suite.start("ending");
      const client = await greeted(server.url);
      const plain = await connect(server.url);
      const slowAnswer = client.request("PAUSE", { ms: 2_000 });
      const plainAnswer = plain.request("PAUSE", { ms: 2_000 });
      client.send("END", { how: "drain" });
      const drainFrame = await client.next("$ws:drain");
      expect(drainFrame.payload).toEqual({ retryAfterMs: expect.any(Number) });
      const late = client.request("GREET", { name: "late" });
      expect(await late).toMatchObject({ type: "GREETING" });
      expect(await slowAnswer).toMatchObject({ type: "PAUSED" });
      expect(await plainAnswer).toMatchObject({ type: "PAUSED" });
      const { retryAfterMs } = drainFrame.payload as { retryAfterMs: number };
      expect(await client.closed).toEqual({ code: 1012, reason: `retryAfterMs=${retryAfterMs}` });
      expect(await plain.closed).toMatchObject({ code: 1012, reason: expect.stringMatching(RETRY_AFTER) });
      expect(plain.frames.map(({ type }) => type)).not.toContain("$ws:drain");
      await ended(server, "drain");
      expect(server.process?.output()).toContain('"result":{"forced":0}');
      await expect(handshake(server.url)).rejects.toThrow();
      await server.stop();
    });

    test("by drain ends what is unfinished at the deadline with UNAVAILABLE and counts it", async ({
      expect,
    }) => {
      const server = await suite.start("ending");
      const stuck = await greeted(server.url);
      stuck.send("HANG", undefined, { correlationId: "h" });
      stuck.send("END", { how: "drain" });
      expect(await stuck.answer("h")).toMatchObject({ payload: { code: "UNAVAILABLE" } });
      expect(await stuck.closed).toMatchObject({ code: 1012 });
      await ended(server, "drain");
      expect(server.process?.output()).toContain('"result":{"forced":1}');
      await server.stop();
    });

    test("by drain tells new connections to retry later", async ({ expect }) => {
      const server = await suite.start("ending");
      const busy = await greeted(server.url);
      busy.send("HANG", undefined, { correlationId: "h" });
      busy.send("END", { how: "drain" });
      await busy.next("$ws:drain");
      const newPeer = await connect(server.url, { protocols: [HALYARD] });
      expect(await newPeer.closed).toMatchObject({ code: 1013, reason: expect.stringMatching(RETRY_AFTER) });
      expect(newPeer.frames).toEqual([]);
      const plain = await handshake(server.url);
      expect(plain.status).toBe(503);
      expect(plain.headers["retry-after"]).toMatch(/^\d+$/);
      await server.stop();
    });

    test("by stop closes every connection with 1012 immediately and frees the port", async ({ expect }) => {
      const server = await suite.start("ending");
      const peers = await Promise.all([greeted(server.url), greeted(server.url), connect(server.url)]);
      peers[0]?.send("END", { how: "stop" });
      for (const peer of peers) expect(await peer.closed).toMatchObject({ code: 1012 });
      await ended(server, "stop");
      await expect(handshake(server.url)).rejects.toThrow();
      await server.stop();
    });

    test("by stop does not wait for a peer that does not read", async ({ expect }) => {
      const server = await suite.start("ending");
      const deaf = await greeted(server.url);
      const asker = await greeted(server.url);
      deaf.pause();
      const startedAt = performance.now();
      asker.send("END", { how: "stop" });
      await ended(server, "stop");
      expect(performance.now() - startedAt).toBeLessThan(1_000 + PATIENCE_MS);
      await server.stop();
    });

    test("by SIGTERM drains, and then the process ends by itself", async ({ expect }) => {
      const server = await suite.start("ending");
      const program = server.process;
      if (program === undefined) throw new Error("The server does not run in its own process.");
      const client = await greeted(server.url);
      const answer = client.request("PAUSE", { ms: 500 });
      // The handler has started once the next frame is answered.
      await client.request("GREET", { name: "Ada" });
      process.kill(program.pid, "SIGTERM");
      await client.next("$ws:drain");
      expect(await answer).toMatchObject({ type: "PAUSED" });
      expect(await client.closed).toMatchObject({ code: 1012 });
      await program.exited;
      expect(program.output()).not.toMatch(/error/i);
    });

    test("by a second SIGTERM neither announces the shutdown again nor cuts it short", async ({ expect }) => {
      const server = await suite.start("ending");
      const program = server.process;
      if (program === undefined) throw new Error("The server does not run in its own process.");
      const client = await greeted(server.url);
      const answer = client.request("PAUSE", { ms: 500 });
      await client.request("GREET", { name: "Ada" });
      process.kill(program.pid, "SIGTERM");
      await client.next("$ws:drain");
      process.kill(program.pid, "SIGTERM");
      expect(await answer).toMatchObject({ type: "PAUSED" });
      expect(await client.closed).toMatchObject({ code: 1012 });
      expect(client.frames.filter(({ type }) => type === "$ws:drain")).toHaveLength(1);
      await program.exited;
    });
  });
}
