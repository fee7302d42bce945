import { expect, test } from "vitest";
import { listPackages, read } from "./repository.ts";

const PAGE = "docs/supported-versions.md";

/** Cells of the rows that name a peer, with the package of the rows above. */
function listPeers(): Map<string, Map<string, string>> {
  const peers = new Map<string, Map<string, string>>();
  let package_ = "";
  const [, section = ""] = read(PAGE).split("## Peers\n");
  for (const line of section.split("\n## ", 1)[0]?.split("\n") ?? []) {
    const [, first = "", names = "", range = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    package_ = /^`(.+)`$/.exec(first)?.[1] ?? package_;
    const version = /^`(.+)`$/.exec(range)?.[1]?.replaceAll("\\|", "|");
    if (version === undefined) continue;
    const ranges = peers.get(package_) ?? new Map<string, string>();
    peers.set(package_, ranges);
    for (const [, name = ""] of names.matchAll(/`([^`]+)`/g)) ranges.set(name, version);
  }
  return peers;
}

test.for(listPackages())("the page of supported versions has the peers of $manifest.name", ({ manifest }) => {
  const peers = Object.entries(manifest.peerDependencies ?? {}).filter(
    ([name]) => !name.startsWith("@halyard/"),
  );
  expect(Object.fromEntries(listPeers().get(manifest.name) ?? [])).toEqual(Object.fromEntries(peers));
});

test.for(listPackages())("the security page names the dependencies of $manifest.name", ({ manifest }) => {
  const sentence = new RegExp(`\`${manifest.name}\` has (.+?)(?:\\.|;|, as version)`).exec(
    read("SECURITY.md"),
  )?.[1];
  const named = Array.from(sentence?.matchAll(/`([^`]+)`/g) ?? [], ([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(manifest.dependencies ?? {}).sort());
});
