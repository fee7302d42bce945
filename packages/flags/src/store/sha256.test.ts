import { afterEach, describe, expect, test, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

const TEXTS = [
  "",
  "a",
  "ä€𝄞",
  "\0",
  "\ud800 alone \udc00",
  JSON.stringify({ a: [1, "b"] }),
  "x".repeat(100_000),
];

async function hashesOf(texts: readonly string[]) {
  const { sha256, sha256Hex } = await import("./sha256.ts");
  const hashed = texts.map((text) => sha256Hex(text));
  return { hashed, expected: await Promise.all(texts.map((text) => sha256(text))) };
}

describe("the hash of a text", () => {
  test("matches the test vectors of the standard", async () => {
    const { hashed } = await hashesOf(["abc"]);
    expect(hashed).toEqual(["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]);
  });

  test("is the same with Node's crypto as with WebCrypto, also for lone surrogates", async () => {
    const { hashed, expected } = await hashesOf(TEXTS);
    expect(hashed).toEqual(expected);
  });

  test.each([undefined, {}, { getBuiltinModule: () => undefined }])(
    "is the same on a runtime without Node's crypto: %o",
    async (process) => {
      const { hashed: before } = await hashesOf(TEXTS);
      vi.resetModules();
      vi.stubGlobal("process", process);
      const { hashed } = await hashesOf(TEXTS);
      vi.unstubAllGlobals();
      expect(hashed.every((hash) => hash instanceof Promise)).toBe(true);
      expect(await Promise.all(hashed)).toEqual(before);
    },
  );
});
