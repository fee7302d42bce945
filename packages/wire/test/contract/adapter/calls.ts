/** Requests over a real socket: answers, progress, cancellation, deadlines, and sends that are waited for. */
import { describe, expect, test } from "vitest";
import { type WsClient, wsClient } from "../../../src/client/index.ts";
import { Greet, Typed, Typing } from "../../fixtures/app.ts";
import { UUID_V7 } from "./handshake.ts";
import { connect, greeted } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function callTests(suite: Suite): void {
  const open = suite.serving("open");
  describe("requests", () => {
    const url = () => open().url;
    const marks = async (clientId: string) =>
      (await readLog(url(), clientId)).map(({ what }) => what).filter((what) => what !== "router open");

    test("the client's typed request is answered, and its typed message delivered", async () => {
      const client: WsClient = wsClient({ url: url() });
      await client.connect();
      const greeting = await client.request(Greet, { name: "Grace" });
      expect(greeting).toMatchObject({ type: "GREETING", payload: { text: "Hello, Grace!" } });
      const typed = new Promise((resolve) => client.on(Typed, resolve));
      client.send(Typing, { room: "general" });
      expect(await typed).toEqual({ room: "general", clientId: expect.stringMatching(UUID_V7) });
      await client.close();
    });

    test("progress comes in order and before the answer", async () => {
      const peer = await greeted(url());
      await peer.request("WORK", { steps: 3 }, { correlationId: "w" });
      expect(peer.frames.slice(1)).toMatchObject([
        { type: "$ws:rpc-progress", meta: { correlationId: "w" }, payload: { step: 1 } },
        { type: "$ws:rpc-progress", meta: { correlationId: "w" }, payload: { step: 2 } },
        { type: "$ws:rpc-progress", meta: { correlationId: "w" }, payload: { step: 3 } },
        { type: "WORKED", meta: { correlationId: "w" }, payload: { steps: 3 } },
      ]);
    });

    test("a plain peer gets progress too", async () => {
      const plain = await connect(url());
      await plain.request("WORK", { steps: 1 });
      expect(plain.frames.map(({ type }) => type)).toEqual(["$ws:rpc-progress", "WORKED"]);
    });

    test("many requests at once are each answered with their own result", async () => {
      const peer = await greeted(url());
      const names = Array.from({ length: 500 }, (_, i) => `n${i}`);
      const answers = await Promise.all(names.map((name) => peer.request("GREET", { name })));
      expect(answers.map(({ payload }) => payload)).toEqual(
        names.map((name) => ({ text: `Hello, ${name}!` })),
      );
    });

    test.each(["now", "later"])("a handler that throws %s shows nothing of its error", async (when) => {
      const peer = await greeted(url());
      const { payload } = await peer.request("BREAK", { when });
      expect(payload).toEqual({ code: "INTERNAL", message: "Internal error" });
    });

    test.skipIf(!suite.can.patience)(
      "an abort cancels the handler once and is answered CANCELLED",
      async () => {
        const peer = await greeted(url());
        peer.send("HANG", undefined, { correlationId: "h" });
        peer.send("$ws:abort", undefined, { correlationId: "h" });
        peer.send("$ws:abort", undefined, { correlationId: "h" });
        expect(await peer.answer("h")).toMatchObject({ payload: { code: "CANCELLED" } });
        await expect
          .poll(() => marks(peer.clientId), POLL)
          .toEqual(["hanging", "aborted", "cancelled", "answered late"]);
        expect(peer.frames.filter(({ meta }) => meta["correlationId"] === "h")).toHaveLength(1);
      },
    );

    test("a deadline ends the call with DEADLINE_EXCEEDED, and the late answer is not sent", async () => {
      const peer = await greeted(url());
      const answer = await peer.request("HANG", undefined, { correlationId: "h", timeoutMs: 50 });
      expect(answer).toMatchObject({ payload: { code: "DEADLINE_EXCEEDED" } });
      await expect
        .poll(() => marks(peer.clientId), POLL)
        .toEqual(["hanging", "aborted", "cancelled", "answered late"]);
      await peer.request("GREET", { name: "Ada" });
      expect(peer.frames.filter(({ meta }) => meta["correlationId"] === "h")).toHaveLength(1);
    });

    test.skipIf(!suite.can.patience)("a disconnect cancels the calls in flight", async () => {
      const peer = await greeted(url());
      peer.send("HANG", undefined, { correlationId: "h" });
      await expect.poll(() => marks(peer.clientId), POLL).toContain("hanging");
      peer.terminate();
      await expect
        .poll(() => marks(peer.clientId), POLL)
        .toEqual(["hanging", "aborted", "cancelled", "router close", "answered late"]);
    });

    test.skipIf(suite.can.patience)(
      "a call whose handler is gone is answered UNAVAILABLE, once",
      async () => {
        const peer = await greeted(url());
        peer.send("HANG", undefined, { correlationId: "h" });
        peer.send("$ws:abort", undefined, { correlationId: "h" });
        expect(await peer.answer("h")).toMatchObject({ payload: { code: "UNAVAILABLE" } });
        await peer.request("GREET", { name: "Ada" });
        expect(peer.frames.filter(({ meta }) => meta["correlationId"] === "h")).toHaveLength(1);
      },
    );

    test("the client's ping is answered, word for word what it sends", async () => {
      const peer = await greeted(url());
      peer.sendRaw('{"type":"$ws:ping"}');
      expect(await peer.next("$ws:pong")).toMatchObject({ type: "$ws:pong" });
    });

    test("$ws:ping is answered at once, also while a handler is busy", async () => {
      const peer = await greeted(url());
      peer.send("HANG", undefined, { correlationId: "h" });
      peer.send("$ws:ping");
      expect(await peer.next("$ws:pong")).toMatchObject({ type: "$ws:pong" });
    });
  });

  describe("a send that is waited for", () => {
    test.skipIf(!suite.can.patience)('with "ack" is true once the peer has echoed the marker', async () => {
      const peer = await greeted(open().url);
      peer.send("CONFIRM", { waitFor: "ack", bytes: 10 }, { correlationId: "c" });
      await peer.next("NOTE");
      const sync = await peer.next("$ws:sync");
      expect(peer.frames.some(({ type }) => type === "CONFIRMED")).toBe(false);
      peer.send("$ws:synced", sync.payload);
      expect(await peer.answer("c")).toMatchObject({ payload: { arrived: true } });
    });

    test('with "ack" is false at once for a plain peer', async () => {
      const plain = await connect(open().url);
      expect(await plain.request("CONFIRM", { waitFor: "ack", bytes: 10 })).toMatchObject({
        payload: { arrived: false },
      });
      expect(plain.frames.map(({ type }) => type)).toEqual(["NOTE", "CONFIRMED"]);
    });

    test.skipIf(!suite.can.patience)('with "drain" is true when the peer reads', async () => {
      const peer = await greeted(open().url);
      const answer = peer.request("CONFIRM", { waitFor: "drain", bytes: 100_000 });
      // Where the platform does not tell what is unsent, the peer does.
      if (!suite.can.backpressure) peer.send("$ws:synced", (await peer.next("$ws:sync")).payload);
      expect(await answer).toMatchObject({ payload: { arrived: true } });
    });

    test.skipIf(!suite.can.patience)('with "ack" is false when the connection closes first', async () => {
      const { url } = open();
      const peer = await greeted(url);
      peer.send("CONFIRM", { waitFor: "ack", bytes: 10 });
      await peer.next("$ws:sync");
      peer.terminate();
      await expect
        .poll(async () => (await readLog(url, peer.clientId)).find(({ what }) => what === "confirmed"), POLL)
        .toMatchObject({ arrived: false });
    });
  });

  describe("a send that is waited for, with a small buffer limit", () => {
    const server = suite.serving("tight");

    test.skipIf(!suite.can.patience)(
      'with "ack" is false after the request timeout when no echo comes',
      async () => {
        const peer = await greeted(server().url);
        peer.send("CONFIRM", { waitFor: "ack", bytes: 10 }, { timeoutMs: 5_000 });
        await peer.next("$ws:sync");
        await expect
          .poll(
            async () => (await readLog(server().url, peer.clientId)).find(({ what }) => what === "confirmed"),
            POLL,
          )
          .toMatchObject({ arrived: false });
      },
    );

    test.skipIf(!suite.can.backpressure)(
      'with "drain" is true once a frame over the limit has left',
      async () => {
        const peer = await greeted(server().url);
        expect(await peer.request("CONFIRM", { waitFor: "drain", bytes: 30_000 })).toMatchObject({
          payload: { arrived: true },
        });
      },
    );
  });
}
