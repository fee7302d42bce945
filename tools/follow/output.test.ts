import { describe, expect, test } from "vitest";
import { findMissingLine } from "./output.ts";

describe("the output of a command is as the page shows it", () => {
  test.for([
    ["if it is the same", ["one", "two"], "one\ntwo\n"],
    ["with other lines between", ["one", "two"], "(node:1) Warning\none\nmore\ntwo"],
    ["where … stands for a part of a line", ["id …, port …"], "id 3f, port 3000"],
    ["where a line is only …", ["one", "…", "two"], "one\ntwo"],
    ["without colours and indentation", ["  ready"], "\u001b[32mready\u001b[39m"],
  ] as const)("%s", ([, expected, printed]) => {
    expect(findMissingLine(expected, printed)).toBeUndefined();
  });
});

describe("a line is missing", () => {
  test.for([
    ["that was not printed", ["one", "two"], "one", "two"],
    ["that came too early", ["one", "two"], "two\none", "two"],
    ["that has more text", ["Hello"], "Hello, Ada!", "Hello"],
    ["that would match only as a pattern", ["a.c"], "abc", "a.c"],
  ] as const)("%s", ([, expected, printed, missing]) => {
    expect(findMissingLine(expected, printed)).toBe(missing);
  });
});
