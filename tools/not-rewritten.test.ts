import { expect, test } from "vitest";
import { findInPages } from "./not-rewritten.ts";

test("a listed page is tolerated while it has problems, and must leave the list when it has none or is deleted", () => {
  const find = (page: string): string[] => (page === "good.md" ? [] : [`${page}: a problem`]);
  expect(findInPages(["good.md", "bad.md"], new Set(["bad.md"]), find)).toEqual([]);
  expect(findInPages(["bad.md"], new Set(), find)).toEqual(["bad.md: a problem"]);
  expect(findInPages(["good.md"], new Set(["good.md", "gone.md"]), find)).toEqual([
    expect.stringMatching(/^gone\.md does not exist/),
    expect.stringMatching(/^good\.md passes now/),
  ]);
});
