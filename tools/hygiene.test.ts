import { describe, expect, test } from "vitest";
import { findBreaches } from "./hygiene.ts";

// Built from parts, so that the check does not report this file.
const machinePath = ["", "home", "someone", "project"].join("/");
const registry = ["registry", "npmjs", "org"].join(".");
const address = `https://${registry}/zod/-/zod-4.0.0.tgz`;
const pool = ["new", "Pool({ max: 1 });"].join(" ");
const redis = ["await createClient({ url })", "connect();"].join(".");
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
    ["a pool without a listener", "packages/flags/test/fixtures/a.ts", `const pool = ${pool}`],
    ["such a pool of a bench", "bench/servers/a.ts", `const pool = ${pool.replace(" ", " pg.")}`],
    ["a Redis client without a listener", "packages/wire/test/a.test.ts", `const client = ${redis}`],
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
    ["a pool in an example", "examples/console/database.ts", `const driver = ${pool}`],
    ["a Redis client with a listener", "bench/a.ts", redis.replace(".", '.on("error", () => {}).')],
    ["the word TODO outside source", "CONTRIBUTING.md", "Leave no TODO."],
  ] as const)("%s", ([, file, line]) => {
    expect(findBreaches(file, line)).toEqual([]);
  });
});
