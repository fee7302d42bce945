import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeInPieces, encodeWhole } from "./encode-short.ts";
import { encode } from "./envelope.ts";

test("the variants for V8 and Bun write exactly what encode writes", () => {
  const id = fc.option(fc.string({ unit: "binary", maxLength: 40 }), { nil: undefined });
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.maxSafeNat(),
      id,
      fc.option(fc.jsonValue(), { nil: undefined }),
      (type, timestamp, correlationId, payload) => {
        const meta = correlationId === undefined ? { timestamp } : { timestamp, correlationId };
        const expected = encode(type, meta, payload);
        expect(encodeInPieces(type, timestamp, correlationId, payload)).toBe(expected);
        expect(encodeWhole(type, timestamp, correlationId, payload)).toBe(expected);
      },
    ),
  );
});
