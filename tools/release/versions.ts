/** Turns the waiting changesets into versions in a copy of the repository, as the release workflow does on `main`. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createCopy } from "../copy.ts";
import { run } from "../process.ts";
import { listFiles, listPackages, type Manifest, read } from "../repository.ts";
import { expectNone, type Outcome } from "../steps.ts";
import { findUnexpected } from "./version-changes.ts";

/** Fails if the changesets cannot be applied, or if the result is not what the workflow and a user expect. */
export async function rehearseVersions(): Promise<Outcome> {
  const { folder, remove } = createCopy();
  try {
    // Without the lock file, which needs the network and which npm writes without our help.
    for (const args of [
      ["node_modules/@changesets/cli/bin.js", "version"],
      ["tools/release/write-version.ts"],
    ]) {
      const { ok, output } = await run(process.execPath, args, { cwd: folder });
      if (!ok) return { ok, output };
    }
    return expectNone([...findUnexpectedFiles(folder), ...findWrongVersions(folder)]);
  } finally {
    remove();
  }
}

/** The workflow applies the changes in a job that may write, so it accepts few of them. */
function findUnexpectedFiles(folder: string): string[] {
  const before = listFiles();
  const added = globSync("packages/*/CHANGELOG.md", { cwd: folder }).filter((file) => !before.includes(file));
  const changes = [...before, ...added].map((file) => ({
    file,
    before: before.includes(file) ? read(file) : undefined,
    after: existsSync(join(folder, file)) ? textIn(folder, file) : undefined,
  }));
  return findUnexpected(changes.filter((change) => change.before !== change.after));
}

function findWrongVersions(folder: string): string[] {
  const packages = listPackages().map(({ path, manifest }) => {
    const next: Manifest = JSON.parse(textIn(folder, `${path}/package.json`));
    console.log(`  ${manifest.name}: ${manifest.version} → ${next.version}`);
    return { path, before: manifest, next };
  });
  return packages.flatMap(({ path, before, next }) => {
    const { name, version = "", dependencies = {}, peerDependencies = {} } = next;
    const isFirstMajor = /^0\./.test(before.version ?? "") && !/^0\./.test(version);
    const hasChanged = version !== before.version;
    const changelog = `${path}/CHANGELOG.md`;
    const isLogged =
      existsSync(join(folder, changelog)) && textIn(folder, changelog).includes(`\n## ${version}\n`);
    const ranges = packages.flatMap(({ next: other }) => {
      const range = dependencies[other.name] ?? peerDependencies[other.name];
      return range === undefined || range.replace(/^\^/, "") === other.version
        ? []
        : [`${name} ${version} needs ${other.name} ${range}, which will be ${other.version}.`];
    });
    return [
      ...(isFirstMajor ? [`${name} would become ${version}. Is it meant to be stable?`] : []),
      ...(hasChanged && !isLogged ? [`${changelog} has no heading for ${version}.`] : []),
      ...ranges,
    ];
  });
}

function textIn(folder: string, file: string): string {
  return readFileSync(join(folder, file), "utf8");
}
