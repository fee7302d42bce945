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
  const { sha256 } = await import("./sha256.ts");
  return texts.map((text) => sha256(text));
}

describe("the hash of a text", () => {
  test("matches the test vectors of the standard", async () => {
    expect(await hashesOf(["abc"])).toEqual([
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ]);
  });

  test("is there at once on Node, so that a transaction need not wait for another thread", async () => {
    for (const hash of await hashesOf(TEXTS)) expect(hash).toBeTypeOf("string");
  });

  test.each([undefined, {}, { getBuiltinModule: () => undefined }])(
    "is the same on a runtime without Node's crypto, also for lone surrogates: %o",
    async (process) => {
      const before = await hashesOf(TEXTS);
      vi.resetModules();
      vi.stubGlobal("process", process);
      const hashed = await hashesOf(TEXTS);
      vi.unstubAllGlobals();
      expect(hashed.every((hash) => hash instanceof Promise)).toBe(true);
      expect(await Promise.all(hashed)).toEqual(before);
    },
  );
});
