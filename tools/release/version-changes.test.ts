/** What the job that applies versions accepts: on this repository, with the patches of a release and of an attacker. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../repository.ts";
import { findUnexpected } from "./version-changes.ts";

const MANIFEST = "packages/wire/package.json";
let folder: string;
beforeAll(() => {
  folder = join(mkdtempSync(join(tmpdir(), "halyard-patch-")), "clone");
  execFileSync("git", ["clone", "--quiet", "--shared", "--no-local", root, folder]);
});
afterAll(() => rmSync(join(folder, ".."), { recursive: true }));

/** Whether the check accepts a patch with these changes. */
function accepts(changes: Readonly<Record<string, ((text: string) => string) | undefined>>): boolean {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" });
  for (const [file, change] of Object.entries(changes)) {
    const path = join(folder, file);
    if (change === undefined) rmSync(path);
    else writeFileSync(path, change(git("ls-files", file) === "" ? "" : readFileSync(path, "utf8")));
  }
  git("add", "--all");
  const patch = join(folder, "..", "versions.patch");
  writeFileSync(patch, git("diff", "--cached", "--binary"));
  git("reset", "--quiet", "--hard");
  const check = join(root, "tools/release/check-versions.ts");
  return spawnSync(process.execPath, [check, patch], { cwd: folder }).status === 0;
}

type Manifest = Record<string, unknown> & { readonly dependencies: Record<string, string> };
const json = (change: (parsed: Manifest) => object) => (text: string) =>
  `${JSON.stringify({ ...JSON.parse(text), ...change(JSON.parse(text)) }, null, 2)}\n`;

test("a patch with versions, ranges of our own packages, changelogs and used changesets is accepted", () => {
  const own = json(({ dependencies }) => ({
    version: "9.0.0",
    dependencies: { ...dependencies, "@halyard/base": "^9.0.0" },
  }));
  const lock = (text: string) => {
    const parsed = JSON.parse(text);
    parsed.packages["packages/wire"].version = "9.0.0";
    return JSON.stringify(parsed, null, 2);
  };
  const release = {
    [MANIFEST]: own,
    "package-lock.json": lock,
    "packages/wire/CHANGELOG.md": () => "# @halyard/wire\n\n## 9.0.0\n",
    "packages/flags/src/server/version.ts": (text: string) => text.replace(/"[^"]+";$/m, '"9.0.0";'),
  };
  expect(accepts(release)).toBe(true);
});

test.each([
  [
    "a script",
    { [MANIFEST]: json(({ scripts }) => ({ scripts: { ...(scripts as object), postinstall: "node x" } })) },
  ],
  [
    "another dependency",
    { [MANIFEST]: json(({ dependencies }) => ({ dependencies: { ...dependencies, "left-pad": "1.0.0" } })) },
  ],
  [
    "a package of ours that it did not need",
    {
      [MANIFEST]: json(({ dependencies }) => ({
        dependencies: { ...dependencies, "@halyard/evil": "1.0.0" },
      })),
    },
  ],
  [
    "a range of ours that is an address",
    {
      [MANIFEST]: json(({ dependencies }) => ({
        dependencies: { ...dependencies, "@halyard/base": "npm:evil@1.0.0" },
      })),
    },
  ],
  ["a version that is none", { [MANIFEST]: json(() => ({ version: "latest" })) }],
  [
    "the manifest of the tools",
    { "tools/package.json": json(() => ({ scripts: { postinstall: "node x" } })) },
  ],
  [
    "an installed package in the lock file",
    {
      "package-lock.json": (text: string) =>
        text.replace(/"resolved": "https:[^"]+"/, '"resolved": "https://evil.example/x.tgz"'),
    },
  ],
  [
    "the source of the version",
    { "packages/flags/src/server/version.ts": (text: string) => `${text}import "evil";\n` },
  ],
  ["a changeset that it adds", { ".changeset/evil.md": () => "evil" }],
  ["a file that is deleted", { "packages/wire/README.md": undefined }],
  ["a workflow", { ".github/workflows/release.yml": (text: string) => `${text}# x\n` }],
  ["the check itself", { "tools/release/check-versions.ts": () => "" }],
  ["a manifest deeper in a package", { "packages/wire/src/package.json": () => "{}" }],
  ["nothing", {}],
] as const)("a patch that changes %s is refused", (_what, changes) => {
  expect(accepts(changes)).toBe(false);
});

test("a manifest that is not JSON, before or after, is refused", () => {
  expect(findUnexpected([{ file: MANIFEST, before: "{", after: "{" }])).toHaveLength(1);
});
