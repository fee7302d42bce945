/** Bytes of messages from and to one peer: large ones are served, and no peer can make the server keep more than its limits. */
import { describe, expect, test } from "vitest";
import { greeted } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

const OUTBOUND_LIMIT_BYTES = 16 * 1024 * 1024;
/** 1000 as a masked close frame; the mask is 0. */
const CLOSE_1000 = new Uint8Array([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);

export function memoryTests(suite: Suite): void {
  const open = suite.serving("open");
  const url = () => open().url;

  describe("a large message to a peer", () => {
    test.skipIf(!suite.can.backpressure)(
      "arrives complete when the peer reads late, together with what was sent behind it",
      async () => {
        const peer = await greeted(url());
        peer.pause();
        peer.send("FETCH", { bytes: 12_000_000 }, { correlationId: "large" });
        peer.send("GREET", { name: "Ada" }, { correlationId: "small" });
        const bystander = await greeted(url());
        await expect
          .poll(() => readLog(url(), peer.clientId), POLL)
          .toContainEqual(expect.objectContaining({ what: "fetched" }));
        expect(await bystander.request("GREET", { name: "Ben" })).toMatchObject({ type: "GREETING" });
        peer.resume();
        const { payload } = await peer.answer("large");
        expect((payload as { text: string }).text).toHaveLength(12_000_000);
        expect(await peer.answer("small")).toMatchObject({ type: "GREETING" });
      },
    );

    test("above maxOutboundFrameBytes is refused, its request is answered with an error, and the connection stays open", async () => {
      const peer = await greeted(url());
      const { payload } = await peer.request("FETCH", { bytes: OUTBOUND_LIMIT_BYTES });
      expect(payload).toMatchObject({ code: "RESOURCE_EXHAUSTED", retryable: false });
      expect((payload as { message: string }).message).toMatch(
        /^The message FETCHED has \d+ bytes, which is above maxOutboundFrameBytes \(16777216\)\./,
      );
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
      expect(await readLog(url(), peer.clientId)).toContainEqual({
        what: "router error",
        clientId: peer.clientId,
        code: "RESOURCE_EXHAUSTED",
        type: "FETCH",
      });
    });
  });

  describe("messages being handled", () => {
    test.skipIf(!suite.can.patience)(
      "are limited in bytes: further ones get RESOURCE_EXHAUSTED until others have finished",
      async () => {
        const peer = await greeted(url());
        const pad = "x".repeat(400_000);
        for (let n = 0; n < 8; n++) peer.send("KEEP", { pad }, { correlationId: `k${n}` });
        for (let n = 3; n < 8; n++)
          expect(await peer.answer(`k${n}`)).toMatchObject({ payload: { code: "RESOURCE_EXHAUSTED" } });
        expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
        for (let n = 0; n < 3; n++) {
          peer.send("$ws:abort", undefined, { correlationId: `k${n}` });
          expect(await peer.answer(`k${n}`)).toMatchObject({ payload: { code: "CANCELLED" } });
        }
        peer.send("KEEP", { pad }, { correlationId: "again" });
        peer.send("$ws:abort", undefined, { correlationId: "again" });
        expect(await peer.answer("again")).toMatchObject({ payload: { code: "CANCELLED" } });
      },
    );
  });

  describe("a message in fragments", () => {
    test("is served when it comes in 1,000 of one byte, with 16 pongs in between", async () => {
      const peer = await greeted(url());
      const text = JSON.stringify({
        type: "GREET",
        meta: { correlationId: "f" },
        payload: { name: "x".repeat(950) },
      });
      await peer.write(
        Buffer.concat(
          [...text].flatMap((character, i) => [
            frame(i === 0 ? 1 : 0, character, i === text.length - 1),
            ...Array.from({ length: i === text.length - 1 ? 0 : 16 }, () => frame(10, "p")),
          ]),
        ),
      );
      expect(await peer.answer("f")).toMatchObject({ type: "GREETING" });
    });
  });

  describe("the close code of a peer", () => {
    test("is reported although a response was due after it", async () => {
      const peer = await greeted(url());
      peer.send("PAUSE", { ms: 100 });
      await peer.ping();
      // The peer stays connected until the server ends the connection.
      peer.pause();
      await peer.write(CLOSE_1000);
      await expect
        .poll(async () => (await readLog(url(), peer.clientId)).at(-1), POLL)
        .toMatchObject({ what: "router close", code: 1000 });
    });
  });
}

/** A masked frame; the mask is 0. */
function frame(opcode: number, text: string, fin = true): Buffer {
  return Buffer.concat([
    Buffer.from([(fin ? 0x80 : 0) | opcode, 0x80 | text.length, 0, 0, 0, 0]),
    Buffer.from(text),
  ]);
}
