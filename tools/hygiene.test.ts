import { describe, expect, test } from "vitest";
import { findBreaches } from "./hygiene.ts";

// Built from parts, so that the check does not report this file.
const machinePath = ["", "home", "someone", "project"].join("/");
const registry = ["registry", "npmjs", "org"].join(".");
const address = `https://${registry}/zod/-/zod-4.0.0.tgz`;
const muted = (word: string): string => `test.${word}("a", () => {});`;

describe("a file is refused for", () => {
  test.for([
    ["a path of one machine", "docs/a.md", `cd ${machinePath}`],
    ["a path of one machine in quotes", "tools/a.ts", `const root = "${machinePath}";`],
    ["a registry host", "docs/a.md", `from ${registry}`],
    ["a registry setting", ".npmrc", `${"registry"}=https://npm.example`],
    ["a download address in the lock file", "package-lock.json", `      "resolved": "${address}",`],
    ["a test that mutes all others", "packages/wire/src/a.test.ts", muted("only")],
    ["a muted test", "packages/wire/test/contract/a.ts", muted("skip")],
    ["a muted table of tests", "packages/wire/src/a.test.ts", `describe.${"skip"}.each([])("a", () => {});`],
    ["unfinished source", "packages/flags/src/a.ts", "// TODO: later"],
  ] as const)("%s", ([, file, line]) => {
    expect(findBreaches(file, `fine\n${line}\n`)).toEqual([
      expect.stringMatching(new RegExp(`^${file}:2: `)),
    ]);
  });
});

describe("a file may hold", () => {
  test.for([
    ["a URL with such a path", "docs/a.md", "https://example.com/home/page"],
    ["a relative path with such a folder", "docs/a.md", "packages/work/src"],
    ["the local links of a lock file", "package-lock.json", '      "resolved": "packages/wire",'],
    ["a test that runs on a condition", "packages/wire/src/a.test.ts", "test.skipIf(noBun)('a', () => {});"],
    ["the word TODO outside source", "CONTRIBUTING.md", "Leave no TODO."],
  ] as const)("%s", ([, file, line]) => {
    expect(findBreaches(file, line)).toEqual([]);
  });
});
