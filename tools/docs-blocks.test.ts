import { describe, expect, test } from "vitest";
import {
  extractFromComments,
  extractFromPage,
  hasPublishedComments,
  isPage,
  relocate,
} from "./docs-blocks.ts";

const FENCE = "```";
const page = (...blocks: readonly string[]): string =>
  blocks.map((block) => `${FENCE}${block}\n${FENCE}\n`).join("\n");

describe("blocks of a page", () => {
  test("are separate modules, in order", () => {
    const { blocks } = extractFromPage("docs/a.md", page("ts\none();", "sh\nls", "tsx\ntwo();"));
    expect(blocks).toEqual([
      { source: "docs/a.md", line: 2, name: "1.ts", code: "one();\n" },
      { source: "docs/a.md", line: 10, name: "2.tsx", code: "two();\n" },
    ]);
  });

  test("may have a name by which other blocks import them", () => {
    const { blocks } = extractFromPage("docs/a.md", page("ts file=schema.ts\nexport const a = 1;"));
    expect(blocks[0]?.name).toBe("schema.ts");
  });

  test("may not share a name", () => {
    const { problems } = extractFromPage("docs/a.md", page("ts file=a.ts\n1;", "ts file=a.ts\n2;"));
    expect(problems).toEqual([expect.stringMatching(/^docs\/a\.md:5: a second block .* a\.ts/)]);
  });

  test.for(["no-check", "twoslash", "file=../a.ts", "file=a.js"])("may not be marked %s", (mark) => {
    const { blocks, problems } = extractFromPage("docs/a.md", page(`ts ${mark}\nx;`));
    expect(blocks).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(`docs/a.md:1: "${mark}" is not allowed`)]);
  });

  test("must spell the language as ts or tsx", () => {
    const { problems } = extractFromPage("docs/a.md", page("typescript\nx;"));
    expect(problems).toEqual([expect.stringMatching(/^docs\/a\.md:1: write ```ts/)]);
  });
});

describe("blocks in comments", () => {
  test("are reported at their line in the file", () => {
    const source = `export const a = 1;\n\n/**\n * Adds.\n *\n * @example\n * ${FENCE}ts\n * add(\n *   1);\n * ${FENCE}\n */\n`;
    const { blocks } = extractFromComments("packages/wire/src/a.ts", source);
    expect(blocks).toEqual([
      { source: "packages/wire/src/a.ts", line: 8, name: "1.ts", code: "add(\n  1);\n" },
    ]);
  });

  test("are ignored in strings", () => {
    const source = `const glob = "src/**";\nconst text = \`\n${FENCE}ts\nx;\n${FENCE}\n\`; /* */\n`;
    expect(extractFromComments("packages/wire/src/a.ts", source).blocks).toEqual([]);
  });
});

test("a compiler message names the line of the page", () => {
  const { blocks } = extractFromPage("docs/a.md", `Text.\n\n${page("ts\none;\ntwo;")}`);
  const output =
    "docs/.blocks/docs/a.md/1.ts(2,5): error TS1: no.\n  more\npackages/wire/src/b.ts(3,1): error TS2: no.";
  expect(relocate(output, blocks)).toBe(
    "docs/a.md:5: error TS1: no.\n  more\npackages/wire/src/b.ts(3,1): error TS2: no.",
  );
});

test("pages are those at the root, in docs and the README of a package", () => {
  expect(["README.md", "docs/guide/a.md", "packages/wire/README.md"].every(isPage)).toBe(true);
  expect([".changeset/a.md", "packages/wire/src/a.ts", "packages/wire/CHANGELOG.md"].some(isPage)).toBe(
    false,
  );
});

test("only comments in published source are compiled, not those in tests", () => {
  expect(hasPublishedComments("packages/wire/src/client/react.tsx")).toBe(true);
  expect(hasPublishedComments("packages/wire/src/client/client.test.ts")).toBe(false);
  expect(hasPublishedComments("packages/wire/test/contract/adapter.ts")).toBe(false);
});
