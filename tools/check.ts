/** `npm run check`: everything that can be known without running the tests. `npm run check -- types` runs one step. */

import { checkBlocks } from "./docs-blocks.ts";
import { findBreaches } from "./hygiene.ts";
import { findMissing } from "./lock.ts";
import { findBrokenLinks, findMissingNames } from "./names.ts";
import { bin, run } from "./process.ts";
import { listFiles, read } from "./repository.ts";
import { expectNone, type Outcome, runStepsFromCommandLine, type Step } from "./steps.ts";

const steps: readonly Step[] = [
  {
    name: "format and lint",
    run: () => run(bin("biome"), ["ci", "--colors=off", "--error-on-warnings", "."]),
  },
  {
    name: "types",
    run: () => run(bin("tsc"), ["--noEmit", "--pretty", "false", "-p", "tsconfig.json"]),
  },
  { name: "isomorphic rooms", run: checkIsomorphicRooms },
  { name: "docs blocks", run: () => checkBlocks(listFiles()) },
  {
    name: "promises",
    run: () => run(bin("oxlint"), ["--type-aware", "--deny-warnings", "--format=unix", "."]),
  },
  { name: "unused code", run: () => run(bin("knip"), ["--no-progress", "--no-config-hints"]) },
  { name: "unused in production", run: checkProduction },
  { name: "names and links", run: checkNames },
  { name: "lock file", run: checkLock },
  { name: "hygiene", run: checkHygiene },
];

/** Source and dependencies that only tests use. Single names may be exported for a test. */
function checkProduction(): Promise<Outcome> {
  const scope = ["--production", "--workspace", "./packages/*", "--files", "--dependencies"];
  return run(bin("knip"), ["--no-progress", "--no-config-hints", ...scope]);
}

async function checkIsomorphicRooms(): Promise<Outcome> {
  const project = "tools/tsconfig.isomorphic.json";
  const { ok, output } = await run(bin("tsc"), ["--pretty", "false", "--listFiles", "-p", project]);
  const lines = output.split("\n");
  // Types that come in through an import would make Node's globals known again, and this check blind.
  const leaks = lines.filter((line) => /\/@types\/(?:node|bun)\/index\.d\.ts$/.test(line));
  const errors = lines.filter((line) => !/^\S*\.[cm]?tsx?$/.test(line));
  const advice = "An import in these rooms brings in a runtime's types; use structural types instead:";
  return leaks.length > 0
    ? { ok: false, output: [...errors, advice, ...leaks].join("\n") }
    : { ok, output: errors.join("\n") };
}

function checkNames(): Outcome {
  const files = listFiles();
  const maps = ["ARCHITECTURE.md", "README.md"].filter((page) => files.includes(page));
  return expectNone([...findMissingNames({ files, read }, maps), ...findBrokenLinks({ files, read })]);
}

function checkLock(): Outcome {
  const missing = findMissing(JSON.parse(read("package-lock.json")));
  const names = missing.map(({ name, parent }) => `package-lock.json: ${parent} wants ${name}.`);
  return expectNone(
    names.length === 0 ? [] : ["npm ci will refuse these gaps. Run `npm run lock`.", ...names],
  );
}

function checkHygiene(): Outcome {
  const isText = (text: string): boolean => !text.includes("\0");
  const problems = listFiles().flatMap((file) => {
    const text = read(file);
    return isText(text) ? findBreaches(file, text) : [];
  });
  return expectNone(problems);
}

await runStepsFromCommandLine(steps);
