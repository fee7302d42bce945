/** The peers of the published packages, and exact versions of them in manifests. */

import type { Manifest } from "./repository.ts";

/** Packages that fit only one version of a peer. */
const TOGETHER: Readonly<Record<string, string>> = { react: "react-dom" };

/** The peers of other authors, each once. */
export function listPeers(manifests: readonly Pick<Manifest, "peerDependencies">[]): string[] {
  const names = manifests.flatMap(({ peerDependencies = {} }) => Object.keys(peerDependencies));
  const peers = names.filter((name) => !name.startsWith("@halyard/"));
  return [...new Set(peers.flatMap((name) => [name, TOGETHER[name] ?? name]))].sort();
}

/** The text of a package.json with these versions in place of exact ones. Ranges are promises to users, and stay. */
export function replaceVersions(text: string, versions: ReadonlyMap<string, string>): string {
  return text.replaceAll(
    /^(\s+"([^"]+)": ")\d[\w.+-]*("?,?)/gm,
    (line: string, start: string, name: string, end: string) => {
      const version = versions.get(name);
      return version === undefined ? line : `${start}${version}${end}`;
    },
  );
}
