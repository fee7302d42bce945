/** `npm run check:size`: bundles the entry points a browser loads, and compares them with their budgets. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { runTsc } from "./process.ts";
import { listEntryPoints, listPackages, read, root } from "./repository.ts";
import { expectNone, type Outcome, readCommandLine, runChosenSteps } from "./steps.ts";

interface Budget {
  /** An entry point that the application has already: only what this one adds to it is counted. */
  readonly beside?: string;
  /** Imports that the application already has, which are not counted. */
  readonly external: readonly string[];
  /** `NODE_ENV` of the build. Default `production`. */
  readonly environment?: string;
  /** Above this size the check fails. */
  readonly maxGzipBytes: number;
  /** A smaller size to aim for; every run prints whether it is reached. */
  readonly goalGzipBytes?: number;
}

/** By entry point; `<entry point> { <names> }` measures only what an import of these names brings. */
const budgets: Readonly<Record<string, Budget>> = JSON.parse(read("tools/size-budgets.json"));

function partsOf(what: string): { readonly entry: string; readonly names: string } {
  const [entry = what, names = "*"] = what.split(/ (?=\{)/);
  return { entry, names };
}

/** Bundled and minified for a browser, then compressed as a web server would. */
async function measure(
  measured: readonly string[],
  { external, environment = "production" }: Budget,
): Promise<number> {
  const contents = measured
    .map(partsOf)
    .map(({ entry, names }) => `export ${names} from ${JSON.stringify(entry)};`)
    .join("\n");
  const result = await build({
    stdin: { contents, resolveDir: join(root, "tools") },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    external: [...external],
    define: { "process.env.NODE_ENV": JSON.stringify(environment) },
    logLevel: "silent",
  });
  return gzipSync(result.outputFiles[0]?.contents ?? "", { level: 9 }).byteLength;
}

async function checkBudget(entry: string, budget: Budget): Promise<Outcome> {
  const { beside } = budget;
  const bytes =
    beside === undefined
      ? await measure([entry], budget)
      : (await measure([beside, entry], budget)) - (await measure([beside], budget));
  const share = Math.round((bytes / budget.maxGzipBytes) * 100);
  const numbers = `${bytes} of ${budget.maxGzipBytes} bytes (${share} %)`;
  const { goalGzipBytes: goal } = budget;
  const verdict =
    goal === undefined ? "" : bytes <= goal ? `, goal ${goal} reached` : `, goal ${goal} not reached`;
  console.log(`  ${entry.padEnd(40)} ${numbers}${verdict}`);
  return expectNone(
    bytes <= budget.maxGzipBytes
      ? []
      : [`${entry} is over its budget in tools/size-budgets.json: ${numbers}.`],
  );
}

function checkEntries(): Outcome {
  const known = listPackages().flatMap((workspace) => listEntryPoints(workspace.manifest));
  const stale = Object.keys(budgets).filter((what) => !known.includes(partsOf(what).entry));
  return expectNone(stale.map((entry) => `${entry} has a budget, but no package exports it.`));
}

async function buildPackages(): Promise<Outcome> {
  const built = await runTsc(["-b", "tsconfig.build.json"]);
  const missing = listPackages().filter(({ path }) => !existsSync(join(root, path, "dist")));
  if (built.ok && missing.length > 0)
    return expectNone(missing.map(({ path }) => `${path}/dist was not built.`));
  return built;
}

await runChosenSteps(
  [
    { name: "build", run: buildPackages },
    { name: "budgets name entry points", run: checkEntries },
    ...Object.entries(budgets).map(([entry, budget]) => ({
      name: `size of ${entry}`,
      run: () => checkBudget(entry, budget),
    })),
  ],
  readCommandLine(),
);
