import { expect, test } from "vitest";
import { findStrayFiles } from "./tarball.ts";

const GOOD = ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", "src/index.ts"];

test("a tarball may hold the built package, its source, README, license and changelog", () => {
  expect(findStrayFiles([...GOOD, "CHANGELOG.md", "dist/react.js", "src/react.tsx"])).toEqual([]);
});

test.for([
  "src/index.test.ts",
  "dist/index.test.js",
  "test/node.test.ts",
  "src/test/fixtures/a.ts",
  "tsconfig.json",
  "dist/.tsbuildinfo",
  ".env",
])("%s must not be published", (file) => {
  expect(findStrayFiles([...GOOD, file])).toContainEqual(expect.stringContaining(file));
});

test.for(["README.md", "LICENSE", "dist/index.js"])("%s must be published", (file) => {
  expect(findStrayFiles(GOOD.filter((name) => name !== file))).toHaveLength(1);
});

test("output of a deleted source must not be published", () => {
  expect(findStrayFiles([...GOOD, "dist/old.js"])).toEqual(["dist/old.js has no source in src."]);
});
