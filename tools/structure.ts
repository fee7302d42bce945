/** Checks that a page of the guide begins with what it is for and a smallest example with its commands. */

import { captionOf, type Fence, findFences, listProse, type Place } from "./markdown.ts";
import { listSentences } from "./sentences.ts";

/** What the page is for. */
const MAX_OPENING = 2;
/** Between the opening and the first block. */
const MAX_BEFORE_EXAMPLE = 3;

/** Pages that readers see on GitHub and npm, which show only the language of a block. */
const CAPTIONED = /^(?:docs\/(?:guide\/)?[^/]+\.md|README\.md|packages\/[^/]+\/README\.md)$/;
const PAGES = /^docs\/guide\/[^/]+\.md$/;
const CONCEPTS = /-concepts\.md$/;
/** Generated, by another plan. */
const TROUBLESHOOTING = /-troubleshooting\.md$/;
const NOT_CODE: ReadonlySet<string> = new Set(["", "sh", "output", "console", "text", "mermaid"]);

/** Whether the check reads this page. */
export function isStructured(file: string): boolean {
  return PAGES.test(file) && !TROUBLESHOOTING.test(file);
}

/** Where the page does not keep to the order of pages. */
export function findStructureProblems(file: string, page: string): string[] {
  const prose = listProse(page);
  const headings = prose.filter(({ text }) => /^#{1,6}\s/.test(text));
  const sections = headings.filter(({ text }) => text.startsWith("## "));
  const fences = findFences(page);
  return [
    ...judgeOpening(page),
    ...(CONCEPTS.test(file) ? judgePicture(page, fences) : judgeExample(page, fences, sections)),
    ...judgeHeadings(headings, sections),
  ].map(({ text, line }) => `${file}:${line}: ${text}`);
}

export function isCaptioned(file: string): boolean {
  return CAPTIONED.test(file);
}

/** The blocks that are files without their name above them. */
export function findMissingCaptions(file: string, page: string): string[] {
  const lines = page.split(/\r?\n/);
  return findFences(page).flatMap((fence) => {
    const caption = captionOf(fence);
    const [above, empty] = lines.slice(Math.max(0, fence.line - 4), fence.line - 2);
    if (caption === undefined || (above === caption && empty === "")) return [];
    return [
      `${file}:${fence.line - 1}: write ${caption} and an empty line above the block: GitHub and npm do not show its name.`,
    ];
  });
}

function judgeOpening(page: string): Place[] {
  const [title = "", ...rest] = page.split(/\r?\n/);
  if (!/^# \S/.test(title)) return [{ text: "the page must begin with its title, `# …`.", line: 1 }];
  const first = rest.findIndex((line) => line.trim() !== "" && !/^\s*<!--.*-->\s*$/.test(line)) + 2;
  const opening = listSentences(page).filter(({ line }) => line === first);
  if (opening.length === 0) return [{ text: "say below the title what the page is for.", line: first }];
  if (opening.length <= MAX_OPENING) return [];
  const text = `the opening has ${opening.length} sentences; say in ${MAX_OPENING} what the page is for.`;
  return [{ text, line: first }];
}

function judgeExample(page: string, fences: readonly Fence[], sections: readonly Place[]): Place[] {
  const end = sections[1]?.line ?? Number.POSITIVE_INFINITY;
  const early = fences.filter(({ line }) => line < end);
  const [first] = early;
  if (first === undefined) return [{ text: "show the smallest example before the second `##`.", line: 1 }];
  const problems: Place[] = [];
  const before = listSentences(page).filter(({ line }) => line < first.line).length;
  if (before > MAX_OPENING + MAX_BEFORE_EXAMPLE) {
    problems.push({ text: `${before} sentences stand before the first example.`, line: first.line - 1 });
  }
  const isCurl = early.some(({ language, lines }) => language === "sh" && /\bcurl\b/.test(lines.join(" ")));
  if (!isCurl && !early.some(({ language }) => !NOT_CODE.has(language))) {
    problems.push({ text: "the part before the second `##` has no code.", line: first.line - 1 });
  }
  if (!early.some(({ language }) => language === "sh")) {
    const text = "the part before the second `##` has no `sh` block with the commands that run the example.";
    problems.push({ text, line: first.line - 1 });
  }
  return problems;
}

function judgePicture(page: string, fences: readonly Fence[]): Place[] {
  const hasPicture = fences.some(({ language }) => language === "mermaid") || /!\[[^\]]+\]\(/.test(page);
  return hasPicture ? [] : [{ text: "a page of concepts needs a picture.", line: 1 }];
}

function judgeHeadings(headings: readonly Place[], sections: readonly Place[]): Place[] {
  const problems: Place[] = [];
  const early = headings.find(({ text }) => /^#{3,}/.test(text));
  if (early !== undefined && early.line < (sections[0]?.line ?? Number.POSITIVE_INFINITY)) {
    problems.push({ text: "a `###` stands before the first `##`.", line: early.line });
  }
  const last = sections.at(-1);
  if (last?.text.trim() !== "## Related pages") {
    problems.push({ text: "the last section must be `## Related pages`.", line: last?.line ?? 1 });
  }
  return problems;
}
