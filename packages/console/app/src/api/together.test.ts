import { expect, test, vi } from "vitest";
import { createTogether } from "./together.ts";

const answers = async (keys: readonly string[], scope: string) => `${scope}: ${keys.join()}`;

test("reads of the same moment share a request, and each key is in it once", async () => {
  const ask = vi.fn(answers);
  const read = createTogether(10, ask);
  expect(await Promise.all([read("a", "x"), read("b", "x"), read("a", "x")])).toEqual([
    "x: a,b",
    "x: a,b",
    "x: a,b",
  ]);
  expect(await read("a", "x")).toBe("x: a");
  expect(ask).toHaveBeenCalledTimes(2);
});

test("a request has at most the given number of keys", async () => {
  const read = createTogether(2, answers);
  const found = await Promise.all(["a", "b", "c", "d", "e"].map((key) => read(key, "x")));
  expect(found).toEqual(["x: a,b", "x: a,b", "x: c,d", "x: c,d", "x: e"]);
});

test("reads of different scopes do not share a request", async () => {
  const read = createTogether(10, answers);
  expect(await Promise.all([read("a", "x"), read("a", "y"), read("b", "x")])).toEqual([
    "x: a,b",
    "y: a",
    "x: a,b",
  ]);
});

test("a request that fails fails for its own keys only", async () => {
  const read = createTogether(1, async (keys: readonly string[]) => {
    if (keys.includes("bad")) throw new Error("refused");
  });
  const found = await Promise.allSettled([read("bad", undefined), read("good", undefined)]);
  expect(found.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});
