import { describe, expect, test } from "vitest";
import { findWords, isChecked } from "./words.ts";

const SOURCE = "packages/wire/src/a.ts";

describe("a word that has a better one is found", () => {
  test.for([
    ["in a comment", "// Nobody waits for it.", "Nobody"],
    ["in a block comment", "/** Starts anew. */", "anew"],
    ["in an error message", 'throw new Error("no message for somebody else");', "somebody"],
    ["in a log line", 'console.warn("the broker hears nothing");', "hears"],
    ["as a phrase", "// A flag that there is not.", "that there is not"],
    ["as the end of a sentence", "// The variant is not there, or there is not.", "there is not"],
    ["as a phrase of an inverted clause", "// Answers, were it from memory.", "were it"],
    ["for an invalid value", "// A URL that is none rejects.", "is none"],
  ] as const)("%s", ([, source, word]) => {
    expect(findWords(SOURCE, `\n${source}\n`)).toEqual([
      expect.stringMatching(new RegExp(`^${SOURCE}:2: "${word}": use .+\\.$`)),
    ]);
  });

  test("in a test title", () => {
    expect(
      findWords("packages/wire/src/a.test.ts", 'test("whoever asks is answered", () => {});'),
    ).toHaveLength(1);
  });

  test("over the end of a line, at the line it starts on", () => {
    expect(findWords(SOURCE, "/**\n * Servers of\n * ours.\n */")).toEqual([
      expect.stringContaining(`${SOURCE}:2: "of ours"`),
    ]);
  });

  test("on a page, outside code", () => {
    const page = "# Title\n\nNobody calls `nobody`.\n\n```ts\nnobody();\n```\n";
    expect(findWords("README.md", page)).toEqual([expect.stringContaining('README.md:3: "Nobody"')]);
  });
});

describe("a text is fine", () => {
  test.for([
    ["with a name from the code", "const nobody = 1;"],
    ["with code in a comment", "// Uses `nobody`."],
    ["with a short string, which is data", 'const name = "nobody";'],
    ["where a longer word contains a listed one", "// The greatest warehouse; the nearest."],
    ["that says there is none", "// Undefined if there is none."],
    ["that counts", "// So many connections are open."],
  ] as const)("%s", ([, source]) => {
    expect(findWords(SOURCE, source)).toEqual([]);
  });

  test("in a test file with data", () => {
    expect(findWords("packages/wire/test/a.test.ts", 'send("nobody is here now");')).toEqual([]);
  });
});

test("sources and the pages at the top are checked; changelogs, other pages and the list itself are not", () => {
  expect(
    [
      "packages/wire/src/a.ts",
      "examples/a/src/a.tsx",
      "tools/ci.ts",
      "README.md",
      "packages/wire/README.md",
    ].every(isChecked),
  ).toBe(true);
  expect(
    ["packages/wire/CHANGELOG.md", "docs/evidence/a.md", "tools/words.ts", "vitest.config.ts"].some(
      isChecked,
    ),
  ).toBe(false);
});
