/** Writes the page of a finished run: to `docs/` when the figures are fit to be shown, else to a draft. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { bunPath } from "@halyard/services";
import { z } from "zod";
import { cache, root } from "./build.ts";
import { type Outcome, renderPages, type Setting } from "./page.ts";

const packageJson = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

/** Gives the folder that was written to, relative to the repository. */
export async function publish(outcomes: readonly Outcome[], fit: boolean): Promise<string> {
  const folder = fit ? join(root, "docs") : join(cache, "report");
  const pages = renderPages(outcomes, await describeSetting());
  // A measurement that no longer exists leaves no chart behind.
  rmSync(join(folder, "performance"), { recursive: true, force: true });
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return relative(root, folder);
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
