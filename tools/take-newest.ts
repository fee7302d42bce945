/**
 * `npm run newest -- [name…]`: gives this checkout the newest published versions of these packages, or of all peers, as a
 * user's `npm install` does. Tests and the rehearsal then use them. Undo it with git, and `npm ci`.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listPeers, replaceVersions } from "./newest.ts";
import { run } from "./process.ts";
import { listPackages, listWorkspaces, read, root } from "./repository.ts";

/** Standard output and what npm warns about are one text. */
const VERSION = /^\d+\.\d+\.\d+$/m;

async function findNewest(name: string): Promise<string> {
  const { output } = await run("npm", ["view", name, "version", "--loglevel=error"]);
  const version = VERSION.exec(output)?.[0];
  if (version === undefined) throw new Error(`npm knows no version of ${name}:\n${output}`);
  return version;
}

const chosen = process.argv.slice(2);
const names = chosen.length > 0 ? chosen : listPeers(listPackages().map(({ manifest }) => manifest));
const versions = new Map<string, string>();
for (const name of names) versions.set(name, await findNewest(name));
for (const path of ["package.json", ...listWorkspaces().map((workspace) => `${workspace.path}/package.json`)])
  writeFileSync(join(root, path), replaceVersions(read(path), versions));
for (const [name, version] of versions) console.log(`${name} ${version}`);
const { ok, output } = await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
  cwd: root,
});
if (!ok) {
  console.error(output);
  process.exitCode = 1;
}
