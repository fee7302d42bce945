import { describe, expect, test } from "vitest";
import { decode, encode } from "./envelope.ts";

describe("decode", () => {
  test("reads what encode wrote", () => {
    const frame = encode("SAY", { timestamp: 1, correlationId: "a" }, { text: "hi" });
    expect(decode(frame)).toMatchObject({
      type: "SAY",
      meta: { timestamp: 1, correlationId: "a" },
      payload: { text: "hi" },
    });
  });

  test("reads a missing meta as empty and distinguishes no payload from a null payload", () => {
    expect(decode('{"type":"A"}')).toMatchObject({ meta: {}, payload: undefined });
    expect(decode('{"type":"A","payload":null}')).toMatchObject({ payload: null });
    expect(decode(encode("A", {}, undefined))).toMatchObject({ payload: undefined });
  });

  test("removes clientId, receivedAt and $-keys from meta", () => {
    const frame = '{"type":"A","meta":{"clientId":"x","receivedAt":1,"$t":"y","room":"z"}}';
    expect(decode(frame)).toMatchObject({ meta: { room: "z" } });
    expect(Object.keys((decode(frame) as { meta: object }).meta)).toEqual(["room"]);
  });

  test.each([
    "",
    "{",
    "null",
    "[]",
    "42",
    '"A"',
    "{}",
    '{"type":5}',
    '{"type":""}',
    '{"type":"A","meta":null}',
    '{"type":"A","meta":[]}',
    '{"type":"A","x":1}',
    '{"type":"A","__proto__":{}}',
  ])("refuses %s", (frame) => {
    expect(decode(frame)).toHaveProperty("problem");
  });

  test.each([
    '{"correlationId":5}',
    '{"correlationId":""}',
    `{"correlationId":"${"x".repeat(129)}"}`,
    '{"timeoutMs":"1"}',
    '{"timestamp":null}',
  ])("refuses meta %s", (meta) => {
    expect(decode(`{"type":"A","meta":${meta}}`)).toHaveProperty("problem");
  });

  test("returns the correlationId of a refused frame when it can be read", () => {
    expect(decode('{"type":"A","meta":{"correlationId":"q"},"x":1}')).toMatchObject({ correlationId: "q" });
    expect(decode('{"meta":{"correlationId":"q"}}')).toMatchObject({ correlationId: "q" });
  });
});
