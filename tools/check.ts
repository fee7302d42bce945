/**
 * `npm run check`: everything that can be checked without running the tests, the fastest steps first.
 * `npm run check -- types` runs one step, `npm run check -- --changed` only what the current change touches.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { findStaleReports, listEntries } from "./api/report.ts";
import { listChangedFiles } from "./changed.ts";
import { checkBlocks, hasPublishedComments, isPage } from "./docs-blocks.ts";
import { findStaleFigures, hasFigures } from "./figures.ts";
import { findBreaches } from "./hygiene.ts";
import { findUndocumented } from "./jsdoc.ts";
import { findMissing, findUnverified, LOCK_FILES } from "./lock.ts";
import { findBrokenLinks, findMissingNames } from "./names.ts";
import { bin, run, runOxlint, runTsc } from "./process.ts";
import { findHardText, isReadable } from "./readability.ts";
import { cachePath, listEntrySources, listFiles, listPackages, read, root } from "./repository.ts";
import { createTables } from "./scale/tables.ts";
import { expectNone, type Outcome, readCommandLine, runChosenSteps, type Step } from "./steps.ts";
import { findMissingCaptions, findStructureProblems, isCaptioned, isStructured } from "./structure.ts";
import { findWrongTitles } from "./titles.ts";
import { catalogues } from "./troubleshooting/catalogues.ts";
import { findGaps } from "./troubleshooting/page.ts";
import { findWords, isChecked } from "./words.ts";

/** One step runs on one core, so two use the smallest machine that CI has. */
const CONCURRENCY = 2;

interface CheckStep extends Step {
  /** Whether a change of this file can change the step's outcome. Without it: a change of any file. */
  readonly concerns?: (file: string) => boolean;
}

/** TypeScript or JavaScript. */
const isScript = (file: string): boolean => /\.[cm]?[jt]sx?$/.test(file);
const isFormatted = (file: string): boolean => /\.(?:[cm]?[jt]sx?|jsonc?|css|html)$/.test(file);
const hasBlocks = (file: string): boolean => isPage(file) || hasPublishedComments(file);
const isSource = (file: string): boolean => isScript(file) && /^packages\/[^/]+\/src\//.test(file);
/** A change of a tool, of its settings or of the ignored files can change the verdict about every file. */
const isSetting = (file: string): boolean =>
  /(?:^|\/)(?:package(?:-lock)?|tsconfig[\w.]*|biome|knip|\.oxlintrc)\.json$/.test(file) ||
  /^tools\/[^/]+\.ts$|(?:^|\/)\.gitignore$/.test(file);

const commandLine = readCommandLine();
const changed = commandLine.changed ? listChangedFiles() : undefined;
const isNarrow = changed !== undefined && !changed.some(isSetting);

/** What a step that looks at single files looks at: all of them, or the changed ones that still exist. */
const scope = isNarrow ? changed.filter((file) => existsSync(join(root, file))) : listFiles();

const steps: readonly CheckStep[] = [
  { name: "hygiene", run: checkHygiene },
  { name: "lock file", run: checkLock },
  { name: "names and links", run: checkNames },
  { name: "titles", run: () => expectNone(findWrongTitles({ files: listFiles(), read })) },
  { name: "words", run: checkWords, concerns: isChecked },
  { name: "page structure", run: checkStructure },
  { name: "readability", run: checkReadability },
  { name: "troubleshooting", run: checkTroubleshooting },
  { name: "figures", run: checkFigures },
  { name: "jsdoc", run: checkJsdoc, concerns: isSource },
  { name: "API reports", run: checkReports },
  { name: "isomorphic rooms", run: checkIsomorphicRooms, concerns: isSource },
  { name: "format and lint", run: checkFormat, concerns: isFormatted },
  {
    name: "unused code",
    run: () => runKnip([]),
    concerns: isScript,
  },
  {
    // Source and dependencies that only tests use. Single names may be exported for a test.
    name: "unused in production",
    run: () => runKnip(["--production", "--workspace", "./packages/*", "--files", "--dependencies"]),
    concerns: isScript,
  },
  { name: "types", run: checkTypes, concerns: isScript },
  { name: "docs blocks", run: () => checkBlocks(scope), concerns: hasBlocks },
  { name: "promises", run: checkPromises, concerns: isScript },
];

function checkHygiene(): Outcome {
  const isText = (text: string): boolean => !text.includes("\0");
  const problems = scope.flatMap((file) => {
    const text = read(file);
    return isText(text) ? findBreaches(file, text) : [];
  });
  return expectNone(problems);
}

function checkLock(): Outcome {
  const files = listFiles();
  const problems = LOCK_FILES.filter((file) => files.includes(file)).map((file) => {
    const lock = JSON.parse(read(file));
    return {
      missing: findMissing(lock).map(({ name, parent }) => `${file}: ${parent} needs ${name}.`),
      unverified: findUnverified(lock).map((path) => `${file}: ${path} has no integrity.`),
    };
  });
  const missing = problems.flatMap((problem) => problem.missing);
  const advice = "npm ci refuses a lock file without these packages. Run `npm run lock`.";
  const unverified = problems.flatMap((problem) => problem.unverified);
  return expectNone([...(missing.length === 0 ? [] : [advice, ...missing]), ...unverified]);
}

function checkNames(): Outcome {
  const files = listFiles();
  const maps = ["ARCHITECTURE.md", "README.md"].filter((page) => files.includes(page));
  return expectNone([...findMissingNames({ files, read }, maps), ...findBrokenLinks({ files, read })]);
}

function checkWords(): Outcome {
  return expectNone(scope.filter(isChecked).flatMap((file) => findWords(file, read(file))));
}

function checkStructure(): Outcome {
  return expectNone(
    listFiles()
      .filter(isStructured)
      .flatMap((page) => findStructureProblems(page, read(page)))
      .concat(
        listFiles()
          .filter(isCaptioned)
          .flatMap((page) => findMissingCaptions(page, read(page))),
      ),
  );
}

function checkReadability(): Outcome {
  return expectNone(
    listFiles()
      .filter(isReadable)
      .flatMap((page) => findHardText(page, read(page))),
  );
}

function checkTroubleshooting(): Outcome {
  const tree = { files: listFiles(), read };
  return expectNone(catalogues.flatMap((catalogue) => findGaps(tree, catalogue)));
}

/** The tables of pages are computed from measurements. */
function checkFigures(): Outcome {
  const tables = createTables();
  const pages = listFiles().filter((file) => file.endsWith(".md") && hasFigures(read(file)));
  return expectNone(pages.flatMap((file) => findStaleFigures(file, read(file), tables)));
}

/** The methods of `auth.api` have the doc comments of the operations. */
const OPERATIONS = "packages/flags/src/server/operations/list.ts";

function checkJsdoc(): Outcome {
  const entries = listPackages().flatMap(({ path }) => listEntrySources(path));
  const problems = findUndocumented({ files: listFiles(), read }, [...entries, OPERATIONS]);
  return expectNone(
    problems.length === 0 ? [] : [`${problems.length} public names lack JSDoc:`, ...problems],
  );
}

function checkReports(): Outcome {
  return expectNone(findStaleReports(listEntries(), { files: listFiles(), read }));
}

async function checkIsomorphicRooms(): Promise<Outcome> {
  const { ok, output } = await runTsc(["-p", "tools/tsconfig.isomorphic.json", "--listFiles"]);
  const lines = output.split("\n");
  // Types that an import brings in would declare Node's globals again and hide every use of them.
  const leaks = lines.filter((line) => /\/@types\/(?:node|bun)\/index\.d\.ts$/.test(line));
  const errors = lines.filter((line) => !/^\S*\.[cm]?tsx?$/.test(line));
  const advice = "An import in these rooms brings in a runtime's types; use structural types instead:";
  return leaks.length > 0
    ? { ok: false, output: [...errors, advice, ...leaks].join("\n") }
    : { ok, output: errors.join("\n") };
}

function checkFormat(): Promise<Outcome> {
  const paths = isNarrow ? ["--no-errors-on-unmatched", ...scope.filter(isFormatted)] : ["."];
  return run(bin("biome"), ["ci", "--colors=off", "--error-on-warnings", "--max-diagnostics=200", ...paths]);
}

function runKnip(args: readonly string[]): Promise<Outcome> {
  const cache = ["--cache", "--cache-location", cachePath("knip")];
  return run(bin("knip"), ["--no-progress", "--no-config-hints", ...cache, ...args]);
}

function checkTypes(): Promise<Outcome> {
  const cache = ["--incremental", "--tsBuildInfoFile", cachePath("types.tsbuildinfo")];
  return runTsc(["--noEmit", "-p", "tsconfig.json", ...cache]);
}

function checkPromises(): Promise<Outcome> {
  const paths = isNarrow ? scope.filter(isScript) : ["."];
  return runOxlint(["--deny-warnings", "--format=unix", ...paths]);
}

function isNeeded({ concerns }: CheckStep): boolean {
  return !isNarrow || changed.some((file) => concerns === undefined || concerns(file));
}

await runChosenSteps(steps, commandLine, { concurrency: CONCURRENCY, isNeeded });
