/** Compiles every TypeScript block that a reader can copy: in Markdown pages and in the JSDoc of published source. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findFences } from "./markdown.ts";
import { runTsc } from "./process.ts";
import { cachePath, read, root } from "./repository.ts";
import { expectNone, type Outcome } from "./steps.ts";

export interface Block {
  /** The file that contains the block, and the line on which its code starts. */
  readonly source: string;
  readonly line: number;
  /** A file name, by which blocks of one page import each other. */
  readonly name: string;
  readonly code: string;
}

export interface Extraction {
  readonly blocks: readonly Block[];
  readonly problems: readonly string[];
}

const FOLDER = "docs/.blocks";
const COMPILED = new Set(["ts", "tsx"]);
const MISSPELT = new Set(["typescript", "mts", "cts"]);
const NAMED = /^file=(?<name>(?!\.)[\w.[\]+-]+(?:\/[\w[\]+-][\w.[\]+-]*)*\.tsx?)$/;

export function isPage(file: string): boolean {
  if (!file.endsWith(".md")) return false;
  return /^(?:docs|site)\//.test(file) || !file.includes("/") || /^packages\/[^/]+\/README\.md$/.test(file);
}

export function hasPublishedComments(file: string): boolean {
  return /^packages\/[^/]+\/src\/.*(?<!\.test)\.tsx?$/.test(file);
}

/** The blocks of one Markdown page. */
export function extractFromPage(source: string, text: string): Extraction {
  return collect(source, [{ text, firstLine: 1 }]);
}

/** The blocks inside one source file's JSDoc comments. */
export function extractFromComments(source: string, text: string): Extraction {
  // Only a comment at the start of a line counts, because a glob in a string can look like one.
  const comments = Array.from(text.matchAll(/^[ \t]*\/\*\*(?!\/)[\s\S]*?\*\//gm), (match) => ({
    text: match[0]
      .split("\n")
      .map((line) => line.replace(/^\s*\*? ?/, ""))
      .join("\n"),
    firstLine: text.slice(0, match.index).split("\n").length,
  }));
  return collect(source, comments);
}

/** Extracts and compiles the blocks, and reports errors at their place in the page or comment. */
export async function checkBlocks(files: readonly string[]): Promise<Outcome> {
  const extractions = [
    ...files.filter(isPage).map((file) => extractFromPage(file, read(file))),
    ...files.filter(hasPublishedComments).map((file) => extractFromComments(file, read(file))),
  ];
  const blocks = extractions.flatMap((extraction) => extraction.blocks);
  const problems = extractions.flatMap((extraction) => extraction.problems);

  rmSync(join(root, FOLDER), { recursive: true, force: true });
  for (const block of blocks) {
    mkdirSync(dirname(join(root, pathOf(block))), { recursive: true });
    writeFileSync(join(root, pathOf(block)), block.code + importAugmented(block.code));
  }
  for (const [index, program] of planPrograms(blocks).entries()) {
    problems.push(...(await compile(`program-${index}`, program, blocks)));
  }
  return expectNone([...new Set(problems)]);
}

/** Replaces the places of extracted files in tsc's messages by those in the pages and comments. */
export function relocate(output: string, blocks: readonly Block[]): string {
  const byPath = new Map(blocks.map((block) => [pathOf(block), block]));
  return output.replaceAll(/^(?<path>\S.*?)\((?<line>\d+),\d+\): /gm, (whole, path: string, line: string) => {
    const block = byPath.get(path.replaceAll("\\", "/"));
    return block === undefined ? whole : `${block.source}:${block.line + Number(line) - 1}: `;
  });
}

function collect(source: string, texts: readonly { text: string; firstLine: number }[]): Extraction {
  const blocks: Block[] = [];
  const problems: string[] = [];
  for (const { text, firstLine } of texts) {
    for (const fence of findFences(text)) {
      const line = firstLine + fence.line - 1;
      const at = `${source}:${line - 1}`;
      if (MISSPELT.has(fence.language)) {
        problems.push(`${at}: write \`\`\`ts instead of \`\`\`${fence.language}, so that it is compiled.`);
      }
      if (!COMPILED.has(fence.language)) continue;
      const named = NAMED.exec(fence.info)?.groups?.["name"];
      if (fence.info !== "" && named === undefined) {
        const advice = `every block is compiled; only file=name.ts may follow \`\`\`${fence.language}`;
        problems.push(`${at}: "${fence.info}" is not allowed here: ${advice}.`);
        continue;
      }
      const name = named ?? `${blocks.length + 1}.${fence.language}`;
      if (blocks.some((block) => block.name === name)) {
        problems.push(`${at}: a second block of this page is called ${name}. Give it another name.`);
        continue;
      }
      blocks.push({ source, line, name, code: `${fence.lines.join("\n")}\n` });
    }
  }
  return { blocks, problems };
}

function pathOf(block: Block): string {
  return `${FOLDER}/${block.source}/${block.name}`;
}

/** A module must be loaded to be augmented. In a reader's program other files import it; a block needs this line. */
function importAugmented(code: string): string {
  const modules = Array.from(code.matchAll(/^\s*declare module ("[^"]+")/gm), (match) => match[1]);
  return modules.map((name) => `import type {} from ${name};\n`).join("");
}

/**
 * One program for all pages, except for pages that add to a module's or the global types: those would change
 * the types of other pages. Such pages share a program only if they add the same.
 */
function planPrograms(blocks: readonly Block[]): Block[][] {
  const additions = new Map<string, string>();
  for (const { source, code } of blocks) {
    if (!/^\s*declare (?:module|global)\b/m.test(code)) continue;
    additions.set(source, (additions.get(source) ?? "") + code);
  }
  const programs = new Map<string, Block[]>();
  for (const block of blocks) {
    const added = additions.get(block.source) ?? "";
    programs.set(added, [...(programs.get(added) ?? []), block]);
  }
  return [...programs.values()];
}

async function compile(name: string, program: readonly Block[], blocks: readonly Block[]): Promise<string[]> {
  const project = join(root, FOLDER, `${name}.json`);
  const config = {
    extends: relative(dirname(project), join(root, "tsconfig.json")),
    compilerOptions: {
      // A reader writes `process.env.PORT`; the other strict settings stay.
      noPropertyAccessFromIndexSignature: false,
      incremental: true,
      tsBuildInfoFile: relative(dirname(project), join(root, cachePath(`docs-${name}.tsbuildinfo`))),
    },
    include: [],
    files: program.map((block) => relative(dirname(project), join(root, pathOf(block)))),
  };
  writeFileSync(project, JSON.stringify(config));
  const { ok, output } = await runTsc(["--noEmit", "-p", project]);
  return ok ? [] : [relocate(output, blocks).trim()];
}
