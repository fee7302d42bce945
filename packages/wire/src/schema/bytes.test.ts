import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes as standardBytes, message as standardMessage } from "../index.ts";
import * as valibot from "../valibot.ts";
import * as zod from "../zod.ts";
import { checkOutbound, readPart, standardValidator } from "./validate.ts";

const { v } = valibot;
const { z } = zod;

const schemas = {
  zod: zod.message("CHUNK", { data: zod.bytes(), parts: z.array(zod.bytes()).optional() }),
  valibot: valibot.message("CHUNK", { data: valibot.bytes(), parts: v.optional(v.array(valibot.bytes())) }),
};

/** What the receiver gets of a payload that was sent over the wire. */
function send(schema: (typeof schemas)[keyof typeof schemas], payload: unknown) {
  checkOutbound(standardValidator, schema, payload, undefined, "INTERNAL");
  return receive(schema, JSON.parse(JSON.stringify(payload)));
}

function receive(schema: (typeof schemas)[keyof typeof schemas], payload: unknown) {
  return readPart(standardValidator, schema, "payload", payload, "INVALID_ARGUMENT");
}

describe.each(Object.entries(schemas))("bytes() with %s", (_, schema) => {
  test("arrives as the same Uint8Array, whatever its content and its length", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (data) => {
        const received = send(schema, { data, parts: [data] }) as { data: Uint8Array; parts: Uint8Array[] };
        expect(received.data).toBeInstanceOf(Uint8Array);
        expect([...received.data]).toEqual([...data]);
        expect([...(received.parts[0] ?? [])]).toEqual([...data]);
      }),
    );
  });

  test("is standard base64 in JSON, also for a Buffer and for a part of an array", () => {
    const whole = new Uint8Array([0, 255, 128, 62, 63, 1]);
    for (const data of [whole.subarray(0, 5), Buffer.from(whole).subarray(0, 5), whole.slice(0, 5)]) {
      const payload = { data };
      checkOutbound(standardValidator, schema, payload, undefined, "INTERNAL");
      expect(JSON.stringify(payload)).toBe('{"data":"AP+APj8="}');
    }
  });

  test("leaves no trace in the sender's array that code can enumerate", () => {
    const data = new Uint8Array([1, 2, 3]);
    send(schema, { data });
    send(schema, { data });
    expect(Object.keys(data)).toEqual(["0", "1", "2"]);
    expect(data).toEqual(new Uint8Array([1, 2, 3]));
  });

  test("handles a megabyte", () => {
    const data = new Uint8Array(1_000_000).map((_, i) => i % 251);
    const received = send(schema, { data }) as { data: Uint8Array };
    expect(Buffer.compare(received.data, data)).toBe(0);
  });

  test.each([
    "not base64!",
    "AAA",
    "AA=A",
    "A===",
    "____",
    "AA-_",
    "AAAA\n",
    5,
    [1, 2, 3],
    { 0: 1 },
    null,
    undefined,
  ])("refuses %j", (data) => {
    expect(() => receive(schema, { data })).toThrow("does not match its schema");
  });
});

test("bytes({ maxBytes }) limits what is sent and what is received", () => {
  const Small = zod.message("CHUNK", { data: zod.bytes({ maxBytes: 4 }) });
  expect(send(Small as never, { data: new Uint8Array(4) })).toMatchObject({ data: new Uint8Array(4) });
  expect(() => send(Small as never, { data: new Uint8Array(5) })).toThrow("does not match its schema");
  expect(() => receive(Small as never, { data: "AAAAAAA=" })).toThrow("does not match its schema");
});

test("bytes() of the core entry point is a whole payload", () => {
  const Chunk = standardMessage("CHUNK", standardBytes());
  expect(send(Chunk as never, new Uint8Array([7, 8]))).toEqual(new Uint8Array([7, 8]));
});
