import { describe, expect, test } from "vitest";
import { findHardText, isReadable, rateSentence } from "./readability.ts";
import { countWords, listSentences } from "./sentences.ts";

const PAGE = "docs/guide/a.md";
const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

describe("a page is cut into sentences", () => {
  test("without the name of a file above its block", () => {
    const page = "# Title\n\nOne two.\n\n**server.ts**\n\n```ts file=server.ts\n```\n\n**One warning.**\n";
    expect(listSentences(page).map(({ text }) => text)).toEqual(["One two.", "One warning."]);
  });

  test("of paragraphs over several lines, list items and table cells, with their lines", () => {
    const page =
      "# Title\n\nOne two.\nThree four. Five.\n\n- An item.\n\n| a | b |\n|---|---|\n| A cell. | |\n";
    expect(listSentences(page)).toEqual([
      { text: "One two.", line: 3, isCell: false },
      { text: "Three four.", line: 3, isCell: false },
      { text: "Five.", line: 3, isCell: false },
      { text: "An item.", line: 6, isCell: false },
      { text: "a", line: 8, isCell: true },
      { text: "b", line: 8, isCell: true },
      { text: "A cell.", line: 10, isCell: true },
    ]);
  });

  test("without code, comments and addresses", () => {
    const page = "<!-- not read -->\nUse `a. B`, [the page](a.md#b) **now**.\n\n```ts\nNot read.\n```\n";
    expect(listSentences(page).map(({ text }) => text)).toEqual(["Use Code, the page now."]);
  });

  test("and an abbreviation ends none", () => {
    expect(listSentences("Some, e.g. Redis, work.")).toHaveLength(1);
  });

  test("whose words are counted without signs", () => {
    expect(countWords("One – two ≥ 3.")).toBe(3);
  });
});

describe("a text is hard", () => {
  test.for([
    ["with a sentence over 30 words", `${words(31)}.`, /31 words/],
    ["with a word that says nothing", "You simply call it.", /"simply"/],
    ["with a word of the project's list", "Nobody calls it.", /"Nobody"/],
    ["with software that talks", "The server says no.", /"server says"/],
    ["with an exclamation mark", "It works!", /exclamation/],
  ] as const)("%s", ([, text, problem]) => {
    expect(findHardText(PAGE, `# A\n\n${text}\n`)).toEqual([expect.stringMatching(problem)]);
  });

  test("with more than a fifth of its sentences in the passive voice", () => {
    const page = (passive: number): string =>
      [...Array(passive).fill("It is quickly sent."), ...Array(20 - passive).fill("It works.")].join(" ");
    expect(findHardText(PAGE, page(4))).toEqual([]);
    expect(findHardText(PAGE, page(5))).toHaveLength(5);
  });
});

test("a sentence of 30 words, a state and a table in the passive voice are fine", () => {
  const cells = Array.from({ length: 9 }, () => "| is sent |").join("\n");
  expect(
    findHardText(
      PAGE,
      `${words(30)}.\n\nIt is closed. It is closed. It is closed. It is closed.\n\n${cells}`,
    ),
  ).toEqual([]);
});

test("a longer sentence, with more clauses and vague words, is rated harder", () => {
  const rate = (text: string): number => rateSentence({ text, line: 1, isCell: false });
  expect(rate("It works, if it can, now.")).toBeGreaterThan(rate("It works if it can now."));
  expect(rate("Nobody calls it.")).toBeGreaterThan(rate("No caller calls it."));
  expect(rate("It is sent.")).toBeGreaterThan(rate("A peer sends."));
});

test("the guide, the READMEs of root and packages and the protocol are read", () => {
  expect(
    ["README.md", "packages/wire/README.md", "docs/guide/rpc.md", "docs/protocol.md"].every(isReadable),
  ).toBe(true);
  expect(["docs/decisions.md", "docs/evidence/a.md", "packages/wire/CHANGELOG.md"].some(isReadable)).toBe(
    false,
  );
});
