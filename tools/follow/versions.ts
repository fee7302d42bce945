/** Which version of a package the followed pages install: the one that this repository is developed with. */

import { read } from "../repository.ts";

/** Packages that pages install and this repository does not use. */
const MORE: Readonly<Record<string, string>> = {
  // The CLI of Better Auth, of the same version.
  auth: "1.7.7",
  "drizzle-kit": "0.31.11",
};

/** The name with an exact version, or `undefined` if no version is known. */
export function pinVersion(name: string): string | undefined {
  const version = findVersion(name);
  return version === undefined ? undefined : `${name}@${version}`;
}

/** The version to install, or `undefined` if none is known. */
export function findVersion(name: string): string | undefined {
  return MORE[name] ?? lockedVersions().get(name);
}

let versions: ReadonlyMap<string, string> | undefined;

function lockedVersions(): ReadonlyMap<string, string> {
  versions ??= new Map(
    Object.entries<{ version?: string; link?: boolean }>(JSON.parse(read("package-lock.json")).packages)
      .filter(([path, { link }]) => link !== true && /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path))
      .flatMap(([path, { version }]) =>
        version === undefined ? [] : [[path.slice("node_modules/".length), version]],
      ),
  );
  return versions;
}
