import fc from "fast-check";
import { expect, test } from "vitest";
import { parseEventInput, receiptOf } from "./event-input.ts";

const json = fc.jsonValue({ maxDepth: 3 });
const or = <Value>(usual: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: json });
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 8 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "\0", "\ud800", "x".repeat(128), "x".repeat(129), "x".repeat(256)),
  },
);
const number = fc.oneof(
  fc.double({ min: -2, max: 2, noNaN: true }),
  fc.constantFrom(0, 1, 1e300, Number.NaN, Number.POSITIVE_INFINITY),
);
const long = fc.constantFrom(
  "x".repeat(2000),
  "\u0001".repeat(2700),
  "\u0001".repeat(2800),
  "€".repeat(6000),
);
const properties = fc.oneof(number, fc.dictionary(text, fc.oneof(text, number, fc.boolean(), json, long)));
const event = fc.record(
  {
    flagKey: or(text),
    event: or(text),
    value: or(number),
    properties: or(properties),
    sampleRate: or(number),
    idempotencyKey: or(text),
    unknown: json,
  },
  { requiredKeys: ["flagKey", "event"] },
);

const receipt = receiptOf(Date.parse("2026-03-04T05:06:07.089Z"));

function outcomeOf(body: unknown): unknown {
  try {
    const { context: _context, ...input } = parseEventInput(body, receipt);
    return input;
  } catch (error) {
    return error;
  }
}

// An event with a context always uses the schema.
test("an event gives the same result with the fast check as with the schema", () => {
  fc.assert(
    fc.property(event, (body) => {
      expect(outcomeOf(body)).toStrictEqual(outcomeOf({ ...body, context: {} }));
    }),
    { numRuns: 1000 },
  );
});

test("an event without a timestamp gets the time of receipt", () => {
  const body = { flagKey: "k", event: "e" };
  expect(parseEventInput(body, receipt).at).toBe("2026-03-04T05:06:07.089Z");
  expect(parseEventInput(body, receiptOf(receipt.ms + 1)).at).toBe("2026-03-04T05:06:07.090Z");
});
