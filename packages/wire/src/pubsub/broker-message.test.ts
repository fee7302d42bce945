import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeBrokerMessage, encodeBrokerMessage } from "./broker-message.ts";

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

describe("a message between processes", () => {
  test("is read as it was written, for any frame and names", () => {
    fc.assert(
      fc.property(message, (given) => {
        expect(decodeBrokerMessage(encodeBrokerMessage(given))).toEqual(given);
      }),
    );
  });

  test("keeps line breaks in the frame", () => {
    const given = { publisher: "a", sequence: 1, previous: 0, excludeClientId: "-", frame: "one\ntwo\n" };
    expect(decodeBrokerMessage(encodeBrokerMessage(given))).toEqual(given);
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
  ])("that is malformed is not read: %j", (text) => {
    expect(decodeBrokerMessage(text)).toBeUndefined();
  });

  test("is read or refused without an exception for any input", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        decodeBrokerMessage(text);
      }),
    );
  });
});
