import { describe, expect, test } from "vitest";
import { findBrokenLinks, findMissingNames, type Tree } from "./names.ts";

function tree(pages: Readonly<Record<string, string>>, ...files: readonly string[]): Tree {
  return { files: [...Object.keys(pages), ...files], read: (file) => pages[file] ?? "" };
}

const FILES = ["packages/wire/src/router/dispatch.ts", "packages/wire/README.md", "tools/check.ts"];

describe("names in ARCHITECTURE.md and README.md", () => {
  const missing = (page: string, text: string): string[] =>
    findMissingNames(tree({ [page]: text }, ...FILES), [page]);

  test.for([
    "packages/wire/src/router/dispatch.ts",
    "router/dispatch.ts",
    "dispatch.ts",
    "packages/wire",
    "packages/wire/src/router/",
    "packages/*/README.md",
  ])("%s exists", (name) => {
    expect(missing("ARCHITECTURE.md", `See \`${name}\`.`)).toEqual([]);
  });

  test.for([
    "packages/wire/src/router/gone.ts",
    "router/gone.ts",
    "gone.ts",
    "patch.ts",
    "packages/gone",
    "packages/wire/src/gone/",
    "docs/*/README.md",
  ])("%s is reported as missing", (name) => {
    expect(missing("ARCHITECTURE.md", `A\n\`${name}\`.`)).toEqual([
      `ARCHITECTURE.md:2: \`${name}\` does not exist in the repository.`,
    ]);
  });

  test.for(["@halyard/wire/client", "./client", "npm run check", "application/json", "GET /health", "a / b"])(
    "%s is not treated as a file",
    (text) => {
      expect(missing("ARCHITECTURE.md", `\`${text}\``)).toEqual([]);
    },
  );

  test("a README may name files in the reader's project", () => {
    expect(missing("README.md", "Put it in `server.ts`.")).toEqual([]);
  });
});

describe("links", () => {
  const page = (text: string): Tree =>
    tree({ "docs/a.md": text, "docs/b.md": "# Two words\n", "README.md": "# Halyard\n" }, ...FILES);

  test.for([
    "b.md",
    "../README.md",
    "b.md#two-words",
    "#here",
    "../packages/wire/",
    "https://example.com/x",
    "mailto:a@b.c",
  ])("%s resolves", (link) => {
    expect(findBrokenLinks(page(`# Here\n\n[x](${link})\n`))).toEqual([]);
  });

  test.for(["c.md", "../docs/c.md", "b.md#three", "#there", "../../outside.md"])("%s is broken", (link) => {
    expect(findBrokenLinks(page(`# Here\n\n[x](${link})\n`))).toEqual([
      expect.stringMatching(/^docs\/a\.md:3: the link /),
    ]);
  });

  test("a package's README links to pages on the web, which are checked too", () => {
    const web = "https://github.com/halyard/halyard/blob/main";
    const readme = (link: string): string[] =>
      findBrokenLinks(
        tree({ "packages/more/README.md": `[x](${link})`, "docs/b.md": "# Two words\n" }, ...FILES),
      );
    expect(readme(`${web}/docs/b.md#two-words`)).toEqual([]);
    expect(readme(`${web}/docs/c.md`)).toEqual([expect.stringContaining("docs/c.md, which does not exist")]);
    expect(readme(`${web}/docs/b.md#three`)).toEqual([expect.stringContaining("no such heading")]);
    expect(readme("../../docs/b.md")).toEqual([expect.stringContaining("does not work in a registry")]);
  });
});
