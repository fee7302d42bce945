import { describe, expect, test } from "vitest";
import { findMissingCaptions, findStructureProblems, isCaptioned, isStructured } from "./structure.ts";

const PAGE = "docs/guide/a.md";
const block = (opening: string, text: string): string => `\`\`\`${opening}\n${text}\n\`\`\`\n`;

const GOOD = [
  "# Requests",
  "",
  "<!-- followed -->",
  "Send a request and wait for its response. Use it for questions.",
  "",
  block("ts", "send();"),
  block("sh", "node a.ts"),
  "## How it works",
  "",
  "## Related pages",
  "",
].join("\n");

test("a page with an opening, an example with its commands and related pages is fine", () => {
  expect(findStructureProblems(PAGE, GOOD)).toEqual([]);
});

describe("a page is out of order", () => {
  test.for([
    ["without a title", GOOD.replace("# Requests", "Requests"), /begin with its title/],
    ["without an opening", GOOD.replace(/^Send.*$/m, "## What"), /what the page is for/],
    ["with a long opening", GOOD.replace("questions.", "questions. Not for events."), /has 3 sentences/],
    ["without an example at its top", GOOD.replaceAll("```ts\nsend();\n```\n", ""), /has no code/],
    ["without commands at its top", GOOD.replaceAll("```sh\nnode a.ts\n```\n", ""), /commands that run/],
    [
      "with a late example",
      GOOD.replace("```ts", "A. Short. Text. Before. It.\n\n```ts"),
      /stand before the first/,
    ],
    ["with a small heading first", GOOD.replace("## How", "### Why\n\n## How"), /before the first `##`/],
    ["without related pages", GOOD.replace("## Related pages", "## Limits"), /last section/],
  ] as const)("%s", ([, page, problem]) => {
    expect(findStructureProblems(PAGE, page)).toContainEqual(expect.stringMatching(problem));
  });

  test("with concepts and no picture", () => {
    const page = "# Concepts\n\nWhat it is.\n\n## Related pages\n";
    expect(findStructureProblems("docs/guide/a-concepts.md", page)).toEqual([
      expect.stringMatching(/needs a picture/),
    ]);
    const drawn = page.replace("## Related", `${block("mermaid", "flowchart LR")}\n## Related`);
    expect(findStructureProblems("docs/guide/a-concepts.md", drawn)).toEqual([]);
  });
});

test("an example of the HTTP API is one command", () => {
  const page = GOOD.replace("```ts\nsend();\n```\n", "").replace("node a.ts", "curl http://localhost");
  expect(findStructureProblems(PAGE, page)).toEqual([]);
});

test("pages of the guide are checked, except for generated ones", () => {
  expect(isStructured("docs/guide/rpc.md")).toBe(true);
  expect(["docs/README.md", "docs/guide/wire-troubleshooting.md"].some(isStructured)).toBe(false);
});

describe("a block that is a file", () => {
  const found = (text: string): string[] => findMissingCaptions(PAGE, text);

  test.for([
    ["# T\n\n**a.ts**\n\n```ts file=a.ts\n```\n"],
    ["**auth.ts on PostgreSQL**\n\n```ts file=auth.postgres.ts\n```\n"],
    ["```ts\na;\n```\n\n```sh\nnode a.ts\n```\n"],
    ["````md\n```ts file=a.ts\n```\n````\n"],
  ])("has its name above it in %j", ([text = ""]) => {
    expect(found(text)).toEqual([]);
  });

  test.for([
    ["```ts file=a.ts\n```\n", 1],
    ["**b.ts**\n\n```ts file=a.ts\n```\n", 3],
    ["**a.ts**\n```ts file=a.ts\n```\n", 2],
    ["**a.ts**\n\nText.\n\n```json file=a.ts\n```\n", 5],
  ] as const)("without its name above it is named: %j", ([text, line]) => {
    expect(found(text)).toEqual([
      `docs/guide/a.md:${line}: write **a.ts** and an empty line above the block: GitHub and npm do not show its name.`,
    ]);
  });

  test("is looked for where GitHub and npm show pages, not on the landing page of the site", () => {
    const files = ["README.md", "docs/protocol.md", "packages/wire/README.md", "site/landing.md"];
    expect(files.filter(isCaptioned)).toEqual(files.slice(0, 3));
  });
});
