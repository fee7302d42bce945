import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeBusMessage, encodeBusMessage } from "./bus-message.ts";

const header = {
  publisher: fc.uuid(),
  sequence: fc.nat({ max: 2 ** 48 }),
  previous: fc.nat({ max: 2 ** 48 }),
  excludeClientId: fc.option(fc.string({ minLength: 1, maxLength: 100 }), { nil: undefined }),
};
const message = fc.oneof(
  fc.record({ ...header, frame: fc.string({ unit: "grapheme" }) }),
  fc.record({ ...header, frame: fc.constant(undefined), acceptedAgoMs: fc.nat() }),
);

describe("a message on the bus", () => {
  test("is read as it was written, whatever the frame and the names in it", () => {
    fc.assert(
      fc.property(message, (given) => {
        expect(decodeBusMessage(encodeBusMessage(given))).toEqual(given);
      }),
    );
  });

  test("leaves a frame with line breaks of its own alone", () => {
    const given = { publisher: "a", sequence: 1, previous: 0, excludeClientId: "-", frame: "one\ntwo\n" };
    expect(decodeBusMessage(encodeBusMessage(given))).toEqual(given);
  });

  test.each([
    "",
    "\n",
    "{}",
    "1 a 1 0",
    "1 a 1 0 ",
    "1 a 1 0 - -\nx",
    "1 a 1 0 - 5\nx",
    "1 a 1 0 -",
    "2 a 1 0 -\nx",
    "1 a -1 0 -\nx",
    "1 a 1.5 0 -\nx",
    "1 a 1 0 %\nx",
    "1 A 1 0 -\nx",
    `1 a ${"9".repeat(16)} 0 -\nx`,
    `1 a 1 0 ${"x".repeat(2_000)}\nx`,
  ])("that is none is not read: %j", (text) => {
    expect(decodeBusMessage(text)).toBeUndefined();
  });

  test("is read or refused, never a throw, whatever comes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        decodeBusMessage(text);
      }),
    );
  });
});
