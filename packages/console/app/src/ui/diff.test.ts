import { expect, test } from "vitest";
import { commonWords } from "./diff.tsx";

const words = (sentence: string): string[] => sentence.split(" ");

test("the words that two sentences share stay unmarked, in their order", () => {
  expect(commonWords(words("plan is pro"), words("plan is pro or team"))).toEqual(["plan", "is", "pro"]);
  expect(commonWords(words("a b c"), words("c b a"))).toHaveLength(1);
  expect(commonWords([], words("new"))).toEqual([]);
});
