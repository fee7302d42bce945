import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { murmur3, murmur3After, prepareSuffix } from "./murmur.ts";

const text = fc.string({ unit: "binary", maxLength: 40 });
const ascii = fc.string({ maxLength: 40 });

describe("murmur3", () => {
  test.each([
    ["", 0],
    ["test", 0xba6bd213],
    ["Hello, world!", 0xc0363e43],
    ["The quick brown fox jumps over the lazy dog", 0x2e4ff723],
  ])("the hash of %j is the published value %i", (input, hash) => {
    expect(murmur3(input)).toBe(hash);
  });

  test("hashes a lone surrogate as U+FFFD", () => {
    expect(murmur3("a\ud800b")).toBe(murmur3("a\ufffdb"));
    expect(murmur3("\udc00")).toBe(murmur3("\ufffd"));
  });
});

const long = fc.oneof(
  fc.string({ unit: "binary", minLength: 60, maxLength: 140 }),
  fc.string({ minLength: 60, maxLength: 140 }),
);

describe("murmur3After", () => {
  test("equals murmur3 of id and suffix for any id and suffix", () => {
    fc.assert(
      fc.property(fc.oneof(ascii, text, long), fc.oneof(ascii, text), (id, suffix) => {
        expect(murmur3After(id, prepareSuffix(suffix))).toBe(murmur3(id + suffix));
      }),
      { numRuns: 5_000 },
    );
  });

  test("hashes more long ids in turns than it keeps, with short and long suffixes", () => {
    const ids = ["é€".repeat(50), ...Array.from({ length: 20 }, (_, at) => `${"a".repeat(70)}${at}`)];
    for (const suffix of [":k", ":key", ":a-longer-key:variant"]) {
      // The second of two is kept, the same one later is not.
      for (const id of [...ids.flatMap((one) => [one, one]), ...ids]) {
        expect(murmur3After(id, prepareSuffix(suffix))).toBe(murmur3(id + suffix));
      }
    }
  });

  test("hashes a surrogate pair that is split between id and suffix as one character", () => {
    expect(murmur3After("a\ud83d", prepareSuffix("\ude00:key"))).toBe(murmur3("a😀:key"));
    const long = "a".repeat(99);
    expect(murmur3After(`${long}\ud83d`, prepareSuffix("\ude00:key"))).toBe(murmur3(`${long}😀:key`));
  });
});
