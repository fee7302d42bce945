/** Writes the page of a finished run: to `docs/` when the figures are reliable enough, otherwise as a draft. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { bunPath } from "@halyard/services";
import { currentCommit } from "@halyard/services/evidence";
import { z } from "zod";
import { cache, root } from "./build.ts";
import { type Outcome, renderPages, type Setting } from "./page.ts";

const packageJson = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

/** The results that the page in `docs/` shows, for a run that measures only some of them again. */
const RECORDS = join("performance", "outcomes.json");

/** Returns the folder that was written to, relative to the repository. `known` are the existing measurements. */
export async function publish(
  outcomes: readonly Outcome[],
  known: readonly string[],
  fit: boolean,
): Promise<string> {
  const folder = fit ? join(root, "docs") : join(cache, "report");
  const earlier = fit ? readRecords(folder) : [];
  const commit = currentCommit();
  const measured = outcomes.map((outcome) => ({ ...outcome, commit }));
  const shown = known.flatMap((name) => [...measured, ...earlier].find((one) => one.name === name) ?? []);
  const pages = new Map(renderPages(shown, await describeSetting()));
  if (fit) pages.set(RECORDS, `${JSON.stringify(shown, null, 2)}\n`);
  // The chart of a removed measurement is deleted.
  rmSync(join(folder, "performance"), { recursive: true, force: true });
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return relative(root, folder);
}

/** Reads a file that this program wrote. After a change of its format, measure everything again. */
function readRecords(folder: string): readonly Outcome[] {
  const path = join(folder, RECORDS);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : [];
}

async function describeSetting(): Promise<Setting> {
  const bun = await promisify(execFile)(bunPath(), ["--version"]);
  const { dependencies, devDependencies } = packageJson.parse(
    JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")),
  );
  return {
    cores: availableParallelism(),
    runtimes: [`Node ${process.versions.node}`, `Bun ${bun.stdout.trim()}`],
    libraries: Object.entries({ ...dependencies, ...devDependencies })
      .filter(([name]) => !/^@(?:halyard|types)\//.test(name))
      .map(([name, version]) => `${name} ${version}`)
      .sort(),
  };
}
