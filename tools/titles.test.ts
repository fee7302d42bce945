import { describe, expect, test } from "vitest";
import type { Tree } from "./names.ts";
import { findWrongTitles } from "./titles.ts";

const SUITE = "packages/wire/test/spec/rpc.test.ts";
const PAGES: Readonly<Record<string, string>> = {
  "docs/guide/rpc.md": "# RPC\n\n## Timeouts\n\n## Options (`rpc()`)\n\n```md\n## Not a heading\n```\n",
};

function check(source: string, file: string = SUITE): string[] {
  const files: Readonly<Record<string, string>> = { ...PAGES, [file]: source };
  const tree: Tree = { files: Object.keys(files), read: (name) => files[name] ?? "" };
  return findWrongTitles(tree);
}

const suite = (title: string): string => `describe(${JSON.stringify(title)}, () => {});\n`;

describe("a suite of the specification may be called", () => {
  test.for([
    ["after a page and a heading", suite("guide/rpc: Timeouts")],
    ["with an addition", suite("guide/rpc: Timeouts (over HTTP)")],
    ["after a heading that ends in parentheses", suite("guide/rpc: Options (`rpc()`)")],
    ["after such a heading with an addition", suite("guide/rpc: Options (`rpc()`) (over HTTP)")],
    ["so in a table", 'describe.each(["a", "b"])("guide/rpc: Timeouts (%s)", () => {});'],
    ["so in a template", "describe(`guide/rpc: Timeouts ($\u007bname})`, () => {});"],
    ["anything inside another suite", 'describe("guide/rpc: RPC", () => { describe("a call", () => {}); });'],
  ] as const)("%s", ([, source]) => {
    expect(check(source)).toEqual([]);
  });
});

describe("a suite of the specification is refused", () => {
  test.for([
    ["without a page", suite("Timeouts"), "write `<page>: <heading>`"],
    ["with a page that does not exist", suite("guide/gone: Timeouts"), "docs/guide/gone.md does not exist"],
    [
      "with a heading that the page does not have",
      suite("guide/rpc: Retries (fast)"),
      'has no heading "Retries"',
    ],
    ["with a heading inside a block", suite("guide/rpc: Not a heading"), "has no heading"],
    ["with a heading in other letters", suite("guide/rpc: timeouts"), "has no heading"],
    ["in a table", 'describe.each([1, 2])("Timeouts %s", () => {});', "write `<page>: <heading>`"],
  ] as const)("%s", ([, source, problem]) => {
    expect(check(`\n${source}`)).toEqual([expect.stringContaining(problem)]);
    expect(check(`\n${source}`)[0]).toMatch(new RegExp(`^${SUITE}:2: `));
  });
});

test("a file of the specification without a suite is refused", () => {
  expect(check("\nexport const rows = 1;\n")).toEqual([
    `${SUITE}:1: the file has no top-level \`describe()\` that is called \`<page>: <heading>\`.`,
  ]);
});

test.for([
  ["a test", 'test("a call ends", () => {});'],
  ["a table of tests", 'test.for<string>(["a"])("a call ends", () => {});'],
] as const)("%s outside of a suite is refused in a file of the specification", ([, source]) => {
  expect(check(`${suite("guide/rpc: Timeouts")}${source}\n`)).toEqual([
    `${SUITE}:2: "a call ends": move this test into a suite that is called \`<page>: <heading>\`.`,
  ]);
});

test("suites elsewhere may be called anything", () => {
  expect(check(suite("Timeouts"), "packages/wire/test/rpc.test.ts")).toEqual([]);
});
