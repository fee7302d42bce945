/** Checks that the suites in `packages/<name>/test/spec` say which part of the docs they prove: `<page>: <heading>`. */

import { findHeadings } from "./markdown.ts";
import type { Tree } from "./names.ts";
import { scan } from "./source-text.ts";

const SPEC = /^packages\/[^/]+\/test\/spec\/.+\.test\.tsx?$/;
const OUTSIDE = "move this test into a suite that is called `<page>: <heading>`.";
const NO_SUITE = "the file has no top-level `describe()` that is called `<page>: <heading>`.";
const TITLE = /^(?<page>[\w./-]+): (?<heading>.+?)$/;

/** Top-level suites whose title names no page or no heading of it, and tests outside of such a suite. */
export function findWrongTitles(tree: Tree): string[] {
  const headings = new Map<string, ReadonlySet<string>>();
  const headingsOf = (page: string): ReadonlySet<string> | undefined => {
    const file = `docs/${page}.md`;
    if (!tree.files.includes(file)) return undefined;
    const cached = headings.get(file) ?? new Set(findHeadings(tree.read(file)).map(({ text }) => text));
    headings.set(file, cached);
    return cached;
  };
  return tree.files
    .filter((file) => SPEC.test(file))
    .flatMap((file) => {
      const titles = listTopLevelTitles(tree.read(file));
      const problems = titles.flatMap(({ title, line, isSuite }) => {
        const problem = isSuite ? judge(title, headingsOf) : OUTSIDE;
        return problem === undefined ? [] : [`${file}:${line}: "${title}": ${problem}`];
      });
      return titles.some(({ isSuite }) => isSuite) ? problems : [...problems, `${file}:1: ${NO_SUITE}`];
    });
}

function judge(
  title: string,
  headingsOf: (page: string) => ReadonlySet<string> | undefined,
): string | undefined {
  const { page, heading } = TITLE.exec(title)?.groups ?? {};
  if (page === undefined || heading === undefined) {
    return "write `<page>: <heading>`, such as `guide/rpc: Timeouts`.";
  }
  const pageHeadings = headingsOf(page);
  if (pageHeadings === undefined) return `docs/${page}.md does not exist.`;
  // The heading may itself end in parentheses; otherwise they hold what the suite adds, such as a variant.
  const isHeading = pageHeadings.has(heading) || pageHeadings.has(heading.replace(/ \([^()]*\)$/, ""));
  return isHeading ? undefined : `docs/${page}.md has no heading "${heading.replace(/ \([^()]*\)$/, "")}".`;
}

/** The titles of suites and tests that stand at the top of the file. */
function listTopLevelTitles(source: string): { title: string; line: number; isSuite: boolean }[] {
  return scan(source).flatMap(({ titleOf, depth, text, line }) =>
    depth === 1 && titleOf !== undefined
      ? [{ title: text, line, isSuite: /^(?:describe|suite)\b/.test(titleOf) }]
      : [],
  );
}
