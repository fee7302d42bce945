/** Frames that are malformed, of the wrong type or too large. */
import { describe, expect, test } from "vitest";
import { connect, greeted } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function frameTests(suite: Suite): void {
  const open = suite.serving("open");
  describe("the server", () => {
    test("answers every invalid frame with one error and keeps the connection open", async () => {
      const peer = await connect(open().url);
      expect(await peer.request("UNKNOWN")).toMatchObject({
        type: "$ws:error",
        payload: { code: "UNIMPLEMENTED" },
      });
      expect(await peer.request("GREET", { name: 1 })).toMatchObject({
        type: "$ws:error",
        payload: { code: "INVALID_ARGUMENT", details: { issues: [{ path: "name" }] } },
      });
      for (const bad of ["not json", "", "[]", '{"type":"GREET","surplus":1}', new Uint8Array([1, 2, 3])]) {
        const before = peer.frames.length;
        peer.sendRaw(bad);
        peer.send("$ws:ping");
        await peer.next("$ws:pong");
        expect(peer.frames.slice(before)).toMatchObject([
          { type: "$ws:error", payload: { code: "INVALID_ARGUMENT" } },
          { type: "$ws:pong" },
        ]);
      }
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });

    test("receives text beyond ASCII unchanged", async () => {
      const peer = await connect(open().url);
      const name = "Zoë 🛶 \u0000 \u2028 Ω";
      expect((await peer.request("GREET", { name })).payload).toEqual({ text: `Hello, ${name}!` });
    });

    test("reads a fragmented message as one message", async () => {
      const peer = await connect(open().url);
      peer.sendFragments(['{"type":"GREET","meta":{"correlationId":"f"},', '"payload":{"na', 'me":"Ada"}}']);
      expect(await peer.answer("f")).toMatchObject({ payload: { text: "Hello, Ada!" } });
    });

    test("reports every failure to the router's onError with its code and type", async () => {
      const peer = await greeted(open().url);
      await peer.request("UNKNOWN");
      peer.sendRaw("{");
      await peer.next("$ws:error");
      await expect
        .poll(async () => (await readLog(open().url, peer.clientId)).slice(1), POLL)
        .toEqual([
          { what: "router error", clientId: peer.clientId, code: "UNIMPLEMENTED", type: "UNKNOWN" },
          { what: "router error", clientId: peer.clientId, code: "INVALID_ARGUMENT" },
        ]);
    });
  });

  test("answers a WebSocket ping with its data", async () => {
    const peer = await connect(open().url);
    expect(await peer.ping("are you there?")).toBe("are you there?");
    expect(await peer.ping()).toBe("");
  });

  if (suite.can.transport) {
    test("closes a connection that violates the WebSocket protocol with 1002", async () => {
      const { url } = open();
      const peer = await greeted(url);
      // An unmasked text frame, which only a server may send.
      peer.sendBytes(new Uint8Array([0x81, 0x02, 0x68, 0x69]));
      expect(await peer.closed).toMatchObject({ code: 1002 });
      await expect
        .poll(async () => (await readLog(url, peer.clientId)).at(-1), POLL)
        .toMatchObject({ what: "router close", code: 1002 });
    });

    test("closes a connection that sends text that is not UTF-8 with 1007, and no other connection", async () => {
      const { url } = open();
      const peer = await greeted(url);
      const bystander = await greeted(url);
      peer.sendRaw(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), false);
      expect(await peer.closed).toMatchObject({ code: 1007 });
      await expect
        .poll(async () => (await readLog(url, peer.clientId)).at(-1), POLL)
        .toMatchObject({ what: "router close", code: 1007 });
      expect(await bystander.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });
  }

  describe("the payload limit", () => {
    const server = suite.serving("tight");
    /** A GREET frame of exactly this many bytes. */
    const frameOf = (bytes: number) => {
      const frame = (name: string) =>
        JSON.stringify({ type: "GREET", meta: { correlationId: "1" }, payload: { name } });
      return frame("x".repeat(bytes - frame("").length));
    };

    test("is announced in hello, and a frame of exactly that size is handled", async () => {
      const peer = await connect(server().url, { protocols: ["halyard.v1.json"] });
      expect((await peer.next()).payload).toMatchObject({ maxPayloadBytes: 10_000 });
      peer.sendRaw(frameOf(10_000));
      expect(await peer.answer("1")).toMatchObject({ type: "GREETING" });
    });

    test("counts bytes, not characters", async () => {
      const peer = await greeted(server().url);
      peer.send("GREET", { name: "é".repeat(9_000) });
      expect(await peer.closed).toMatchObject({ code: 1009 });
    });

    test("applies to a fragmented message before it is complete", async () => {
      const peer = await greeted(server().url);
      peer.sendFragments(Array.from({ length: 200 }, () => "x".repeat(100)));
      expect(await peer.closed).toMatchObject({ code: 1009 });
    });

    test("closes the connection of a larger frame with 1009, also for onLimitExceeded and onClose", async () => {
      const peer = await greeted(server().url);
      const bystander = await greeted(server().url);
      peer.sendRaw(frameOf(10_001));
      expect(await peer.closed).toMatchObject({ code: 1009 });
      const { clientId } = peer;
      await expect
        .poll(async () => (await readLog(server().url, clientId)).slice(1), POLL)
        .toMatchObject([
          { what: "limit", type: "payload", clientId, observed: expect.any(Number), limit: 10_000 },
          { what: "router close", clientId, code: 1009 },
        ]);
      const [limit] = (await readLog(server().url, clientId)).slice(1);
      expect(limit?.["observed"]).toBeGreaterThan(10_000);
      expect(await bystander.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });
  });
}
