/** Requests over a real socket: responses, progress, cancellation, deadlines, and sends with waitFor. */
import { describe, expect, test } from "vitest";
import { type WsClient, wsClient } from "../../../src/client/index.ts";
import { Buy, Greet, Typed, Typing } from "../../fixtures/app.ts";
import { UUID_V7 } from "./handshake.ts";
import { connect, greeted } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function callTests(suite: Suite): void {
  const open = suite.serving("open");
  const patient = suite.serving("any-origin");
  describe("requests and pings", () => {
    const url = () => open().url;
    const marks = async (clientId: string) =>
      (await readLog(url(), clientId)).map(({ what }) => what).filter((what) => what !== "router open");

    test("receive typed responses from the client's request, and its typed messages are delivered", async () => {
      const client: WsClient = wsClient({ url: url() });
      await client.connect();
      const greeting = await client.request(Greet, { name: "Grace" });
      expect(greeting).toMatchObject({ type: "GREETING", payload: { text: "Hello, Grace!" } });
      const typed = new Promise((resolve) => client.on(Typed, resolve));
      client.send(Typing, { room: "general" });
      expect(await typed).toEqual({ room: "general", clientId: expect.stringMatching(UUID_V7) });
      await client.close();
    });

    test("receive progress in order and before the response", async () => {
      const peer = await greeted(url());
      await peer.request("WORK", { steps: 3 }, { correlationId: "w" });
      expect(peer.frames.slice(1)).toMatchObject([
        { type: "$ws:rpc-progress", meta: { correlationId: "w" }, payload: { step: 1 } },
        { type: "$ws:rpc-progress", meta: { correlationId: "w" }, payload: { step: 2 } },
        { type: "$ws:rpc-progress", meta: { correlationId: "w" }, payload: { step: 3 } },
        { type: "WORKED", meta: { correlationId: "w" }, payload: { steps: 3 } },
      ]);
    });

    test("receive progress on a plain peer too", async () => {
      const plain = await connect(url());
      await plain.request("WORK", { steps: 1 });
      expect(plain.frames.map(({ type }) => type)).toEqual(["$ws:rpc-progress", "WORKED"]);
    });

    test("receive each their own response when many run at once", async () => {
      const peer = await greeted(url());
      const names = Array.from({ length: 500 }, (_, i) => `n${i}`);
      const answers = await Promise.all(names.map((name) => peer.request("GREET", { name })));
      expect(answers.map(({ payload }) => payload)).toEqual(
        names.map((name) => ({ text: `Hello, ${name}!` })),
      );
    });

    test("receive a declared error with its name and its data", async () => {
      const client: WsClient = wsClient({ url: url() });
      await client.connect();
      const error = await client.request(Buy, { sku: "rope" }).catch((caught: unknown) => caught);
      expect(Buy.isError(error) && [error.code, error.reason, error.data]).toEqual([
        "FAILED_PRECONDITION",
        "OUT_OF_STOCK",
        { left: 2, token: "rope" },
      ]);
      await client.close();
    });

    test.each(["now", "later"])("receive no detail of the error when a handler throws %s", async (when) => {
      const peer = await greeted(url());
      const { payload } = await peer.request("BREAK", { when });
      expect(payload).toEqual({ code: "INTERNAL", message: "Internal error" });
    });

    test.skipIf(!suite.can.patience)("are cancelled once by an abort and receive CANCELLED", async () => {
      const peer = await greeted(url());
      peer.send("HANG", undefined, { correlationId: "h" });
      peer.send("$ws:abort", undefined, { correlationId: "h" });
      peer.send("$ws:abort", undefined, { correlationId: "h" });
      expect(await peer.answer("h")).toMatchObject({ payload: { code: "CANCELLED" } });
      await expect
        .poll(() => marks(peer.clientId), POLL)
        .toEqual(["hanging", "aborted", "cancelled", "answered late"]);
      expect(peer.frames.filter(({ meta }) => meta["correlationId"] === "h")).toHaveLength(1);
    });

    test("may take longer than 300 s when both their timeoutMs and rpcTimeoutMs allow it", async () => {
      const peer = await greeted(patient().url);
      const remaining = async (timeoutMs: number) =>
        (await peer.request("REMAINING", undefined, { timeoutMs })).payload as { ms: number };
      expect((await remaining(600_000)).ms).toBeGreaterThan(590_000);
      expect((await remaining(600_000)).ms).toBeLessThanOrEqual(600_000);
      expect((await remaining(2_000_000)).ms).toBeGreaterThan(890_000);
      expect((await remaining(2_000_000)).ms).toBeLessThanOrEqual(900_000);
    });

    test("end with DEADLINE_EXCEEDED at the deadline, and a late response is not sent", async () => {
      const peer = await greeted(url());
      const answer = await peer.request("HANG", undefined, { correlationId: "h", timeoutMs: 50 });
      expect(answer).toMatchObject({ payload: { code: "DEADLINE_EXCEEDED" } });
      await expect
        .poll(() => marks(peer.clientId), POLL)
        .toEqual(["hanging", "aborted", "cancelled", "answered late"]);
      await peer.request("GREET", { name: "Ada" });
      expect(peer.frames.filter(({ meta }) => meta["correlationId"] === "h")).toHaveLength(1);
    });

    test.skipIf(!suite.can.patience)("are cancelled when the connection closes", async () => {
      const peer = await greeted(url());
      peer.send("HANG", undefined, { correlationId: "h" });
      await expect.poll(() => marks(peer.clientId), POLL).toContain("hanging");
      peer.terminate();
      await expect
        .poll(() => marks(peer.clientId), POLL)
        .toEqual(["hanging", "aborted", "cancelled", "router close", "answered late"]);
    });

    test.skipIf(suite.can.patience)(
      "receive UNAVAILABLE once when their handler no longer exists",
      async () => {
        const peer = await greeted(url());
        peer.send("HANG", undefined, { correlationId: "h" });
        peer.send("$ws:abort", undefined, { correlationId: "h" });
        expect(await peer.answer("h")).toMatchObject({ payload: { code: "UNAVAILABLE" } });
        await peer.request("GREET", { name: "Ada" });
        expect(peer.frames.filter(({ meta }) => meta["correlationId"] === "h")).toHaveLength(1);
      },
    );

    test("are answered: a $ws:ping in exactly the client's bytes receives $ws:pong", async () => {
      const peer = await greeted(url());
      peer.sendRaw('{"type":"$ws:ping"}');
      expect(await peer.next("$ws:pong")).toMatchObject({ type: "$ws:pong" });
    });

    test("are answered immediately: $ws:ping receives $ws:pong while a handler is busy", async () => {
      const peer = await greeted(url());
      peer.send("HANG", undefined, { correlationId: "h" });
      peer.send("$ws:ping");
      expect(await peer.next("$ws:pong")).toMatchObject({ type: "$ws:pong" });
    });
  });

  describe("a send with waitFor", () => {
    test.skipIf(!suite.can.patience)('"ack" is true once the peer has returned the marker', async () => {
      const peer = await greeted(open().url);
      peer.send("CONFIRM", { waitFor: "ack", bytes: 10 }, { correlationId: "c" });
      await peer.next("NOTE");
      const sync = await peer.next("$ws:sync");
      expect(peer.frames.some(({ type }) => type === "CONFIRMED")).toBe(false);
      peer.send("$ws:synced", sync.payload);
      expect(await peer.answer("c")).toMatchObject({ payload: { arrived: true } });
    });

    test('"ack" is false immediately for a plain peer', async () => {
      const plain = await connect(open().url);
      expect(await plain.request("CONFIRM", { waitFor: "ack", bytes: 10 })).toMatchObject({
        payload: { arrived: false },
      });
      expect(plain.frames.map(({ type }) => type)).toEqual(["NOTE", "CONFIRMED"]);
    });

    test.skipIf(!suite.can.patience)('"drain" is true when the peer reads', async () => {
      const peer = await greeted(open().url);
      const answer = peer.request("CONFIRM", { waitFor: "drain", bytes: 100_000 });
      // Where the platform does not report unsent bytes, the peer's acknowledgement does.
      if (!suite.can.backpressure) peer.send("$ws:synced", (await peer.next("$ws:sync")).payload);
      expect(await answer).toMatchObject({ payload: { arrived: true } });
    });

    test.skipIf(!suite.can.patience)('"ack" is false when the connection closes first', async () => {
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

  describe("a send with waitFor and a small buffer limit", () => {
    const server = suite.serving("tight");

    test.skipIf(!suite.can.patience)(
      '"ack" is false after the request timeout without a returned marker',
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

    test.skipIf(!suite.can.backpressure)('"drain" is true once a frame over the limit has left', async () => {
      const peer = await greeted(server().url);
      expect(await peer.request("CONFIRM", { waitFor: "drain", bytes: 30_000 })).toMatchObject({
        payload: { arrived: true },
      });
    });
  });
}
