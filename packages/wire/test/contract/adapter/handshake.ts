/** The handshake: protocol selection and hello. */
import { describe, expect, test } from "vitest";
import { connect, greeted, HALYARD, handshake } from "./peer.ts";
import type { Suite } from "./suite.ts";

export const UUID_V7: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function handshakeTests(suite: Suite): void {
  const open = suite.serving("open");
  describe("the handshake", () => {
    test("sends hello first to a halyard peer, with its id and limits", async () => {
      const peer = await connect(open().url, { protocols: [HALYARD] });
      expect(peer.protocol).toBe(HALYARD);
      expect(await peer.next()).toEqual({
        type: "$ws:hello",
        meta: { timestamp: expect.any(Number) },
        payload: {
          v: 1,
          clientId: expect.stringMatching(UUID_V7),
          heartbeatMs: 0,
          timeoutMs: 5000,
          maxPayloadBytes: 1_000_000,
        },
      });
    });

    test("gives every connection its own id", async () => {
      const { url } = open();
      const peers = await Promise.all(Array.from({ length: 20 }, () => greeted(url)));
      expect(new Set(peers.map((peer) => peer.clientId)).size).toBe(20);
    });

    test("gives a plain WebSocket peer the same frames without hello", async () => {
      const plain = await connect(open().url);
      expect(plain.protocol).toBe("");
      expect(await plain.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
      plain.send("$ws:ping");
      expect(await plain.next("$ws:pong")).toMatchObject({ type: "$ws:pong" });
      expect(plain.frames.map((frame) => frame.type)).toEqual(["GREETING", "$ws:pong"]);
    });

    test.each(["soap", "bearer.user-ada", "bearer.user-ada, soap", "soap, bearer.user-ada"])(
      "selects nothing from %s: neither an unknown protocol nor a token",
      async (offered) => {
        const answer = await handshake(open().url, { "sec-websocket-protocol": offered });
        expect(answer.status).toBe(101);
        expect(answer.headers["sec-websocket-protocol"]).toBeUndefined();
      },
    );

    test("selects halyard.v1.json in any position among the others", async () => {
      const answer = await handshake(open().url, {
        "sec-websocket-protocol": `bearer.user-ada, soap, ${HALYARD}`,
      });
      expect(answer.headers["sec-websocket-protocol"]).toBe(HALYARD);
    });

    test("answers a request that is not an upgrade with 426", async () => {
      const response = await fetch(open().url.replace("ws:", "http:"));
      expect(response.status).toBe(426);
    });
  });

  if (suite.can.transport) {
    test("negotiates no compression, whatever the client offers", async () => {
      const answer = await handshake(open().url, {
        "sec-websocket-extensions": "permessage-deflate; client_max_window_bits",
      });
      expect(answer.status).toBe(101);
      expect(answer.headers["sec-websocket-extensions"]).toBeUndefined();
    });
  }

  if (suite.can.admission)
    describe("the handshake with application protocols", () => {
      const server = suite.serving("guarded");
      const url = () => `${server().url}/live?access_token=user-ada`;

      test("selects the first configured protocol in the client's order", async () => {
        const answer = await handshake(url(), {
          "sec-websocket-protocol": `x, chat.v1, chat.v2, ${HALYARD}`,
        });
        expect(answer.headers["sec-websocket-protocol"]).toBe("chat.v1");
      });

      test("sends hello to a halyard peer also when it selects an application protocol", async () => {
        const peer = await greeted(url(), { protocols: ["chat.v2", HALYARD] });
        expect(peer.protocol).toBe("chat.v2");
      });

      test("sends no hello to a peer that offers only an application protocol", async () => {
        const peer = await connect(url(), { protocols: ["chat.v2"] });
        await peer.request("GREET", { name: "Ada" });
        expect(peer.frames.map((frame) => frame.type)).toEqual(["GREETING"]);
      });

      test("closes a peer that offers only other protocol versions with 1008", async () => {
        const peer = await connect(url(), { protocols: ["halyard.v9.json", "chat.v1"] });
        expect(await peer.closed).toMatchObject({ code: 1008 });
        expect(peer.frames).toEqual([]);
      });

      test("names the connection's id in the configured response header", async () => {
        const peer = await greeted(url());
        expect(peer.headers["x-connection-id"]).toBe(peer.clientId);
        expect(peer.headers["x-client-id"]).toBeUndefined();
      });
    });

  if (suite.can.admission)
    test("names the connection's id in x-client-id by default", async () => {
      const peer = await greeted(open().url);
      expect(peer.headers["x-client-id"]).toBe(peer.clientId);
    });
}
