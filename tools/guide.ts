/** The examples of wire's guide in a project outside the repository: compiled with each TypeScript, and started. */

import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Block, extractFromPage } from "./docs-blocks.ts";
import { isFollowed } from "./follow/page.ts";
import { read, root } from "./repository.ts";
import { startsOrEnds } from "./starting.ts";
import type { Outcome } from "./steps.ts";
import { type Compiler, runCompiler } from "./stranger.ts";

/** Pages whose examples run elsewhere: in Bun, in workerd, in a browser. */
const ELSEWHERE: ReadonlySet<string> = new Set(["bun", "cloudflare", "react", "sessions"]);

/** `serve` listens here unless an example sets another port. */
const PORT = 3000;

interface Page {
  readonly name: string;
  readonly blocks: readonly Block[];
  /** Followed by its commands, so its examples are not started here. */
  readonly isFollowed: boolean;
}

function listPages(): Page[] {
  return ["packages/wire/README.md", ...globSync("docs/guide/*.md", { cwd: root }).sort()]
    .filter((path) => !/^(?:flags-|console)/.test(basename(path)))
    .map((path) => ({
      name: basename(path, ".md"),
      blocks: extractFromPage(path, read(path)).blocks,
      isFollowed: isFollowed(path, read(path)),
    }));
}

/**
 * Writes the pages below `folder`, where the packages are installed, one folder for each page. Steps run side by side, so
 * each has a copy of its own: a compiler must not read a file that another step is writing.
 */
function writePages(
  folder: string,
  step: string,
): { readonly copy: string; readonly pages: readonly Page[] } {
  const copy = join(folder, "guide", step);
  const pages = listPages();
  for (const { name, blocks } of pages) {
    for (const block of blocks) {
      const file = join(copy, name, block.name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, block.code);
    }
  }
  return { copy, pages };
}

/**
 * Compiles all examples but those of Bun, whose types are not a peer, and of sessions, whose data another page declares
 * differently for all routers of a program.
 */
export function compileGuide(folder: string, compiler: Compiler): Promise<Outcome> {
  const { copy } = writePages(folder, compiler);
  const project = join(copy, "tsconfig.json");
  const compilerOptions = {
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable", "ESNext.Disposable"],
    module: "nodenext",
    moduleDetection: "force",
    types: ["node"],
    jsx: "react-jsx",
    strict: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  writeFileSync(
    project,
    JSON.stringify(
      { compilerOptions, include: ["**/*.ts", "**/*.tsx"], exclude: ["bun", "sessions"] },
      null,
      2,
    ),
  );
  return runCompiler(folder, compiler, ["-p", project]);
}

/** Starts the first example of each page that Node can run. A server must listen; anything else must end with code 0. */
export async function runGuide(folder: string): Promise<Outcome> {
  const { copy, pages } = writePages(folder, "started");
  for (const { name, blocks, isFollowed: isElsewhere } of pages) {
    const first = isElsewhere || ELSEWHERE.has(name) ? undefined : firstProgram(blocks);
    if (first === undefined) continue;
    const args = first.endsWith(".test.ts") ? ["--test"] : [];
    const { ok, output } = await startsOrEnds(first, join(copy, name), [PORT], args);
    if (!ok) return { ok, output: `docs/guide/${name}.md: the first example does not run.\n${output}` };
  }
  return { ok: true, output: "" };
}

/** Messages alone do nothing, so the server that uses them is the example. */
function firstProgram(blocks: readonly Block[]): string | undefined {
  const [first, ...others] = blocks.map(({ name }) => name);
  if (first !== "messages.ts") return first;
  return others.includes("server.ts") ? "server.ts" : first;
}
