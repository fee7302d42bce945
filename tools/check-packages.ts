/** `npm run check:packages`: what strangers get. Builds, packs, lints the tarballs and uses them from a project outside. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { bin, run } from "./process.ts";
import { listPackages, readManifest, root, type Workspace } from "./repository.ts";
import { expectNone, type Outcome, runStepsFromCommandLine, type Step } from "./steps.ts";
import {
  type Compilation,
  compile,
  findUnusedEntryPoints,
  importEntryPoints,
  install,
  type PackageManager,
} from "./stranger.ts";
import { findStrayFiles, pack, type Tarball } from "./tarball.ts";

/** The oldest TypeScript each package promises to work with. */
const OLDEST_TYPESCRIPT: Readonly<Record<string, string>> = {
  "@halyard/wire": "5.5.4",
  "@halyard/flags": "5.5.4",
};

/** Packages whose consumers may set `skipLibCheck: false`. Better Auth's own declarations do not allow it. */
const STRICT_DECLARATIONS: ReadonlySet<string> = new Set(["@halyard/wire"]);

const folder = mkdtempSync(join(tmpdir(), "halyard-packages-"));
const packages = listPackages();
const tarballs = new Map<string, Tarball>();

async function buildAndPack(): Promise<Outcome> {
  // From nothing, so that no output of a deleted source is published.
  for (const { path } of packages) rmSync(join(root, path, "dist"), { recursive: true, force: true });
  const built = await run(bin("tsc"), ["-b", "--pretty", "false", "tsconfig.build.json"]);
  if (!built.ok) return built;
  for (const workspace of packages) tarballs.set(workspace.manifest.name, await pack(workspace, folder));
  return { ok: true, output: "" };
}

function tarballOf(workspace: Workspace): Tarball {
  const tarball = tarballs.get(workspace.manifest.name);
  if (tarball === undefined)
    throw new Error(`${workspace.manifest.name} was not packed: see the step above.`);
  return tarball;
}

function checkFiles(workspace: Workspace): Outcome {
  const { files, bytes } = tarballOf(workspace);
  console.log(`  ${workspace.manifest.name}: ${files.length} files, ${(bytes / 1000).toFixed(1)} kB packed`);
  return expectNone(findStrayFiles(files));
}

function installFor(workspace: Workspace, manager: PackageManager): Promise<Outcome> {
  const oldest = OLDEST_TYPESCRIPT[workspace.manifest.name];
  if (oldest === undefined)
    throw new Error(`Name the oldest TypeScript for ${workspace.manifest.name} in this tool.`);
  const paths = new Map([...tarballs].map(([name, tarball]) => [name, tarball.path]));
  tarballOf(workspace);
  return install(workspace, projectOf(workspace, manager), paths, oldest, manager);
}

function projectOf(workspace: Workspace, manager: PackageManager): string {
  return join(folder, manager, basename(workspace.path));
}

function planCompilations(workspace: Workspace, manager: PackageManager): Step[] {
  const newest = readManifest(".").devDependencies?.["typescript"] ?? "";
  const oldest = OLDEST_TYPESCRIPT[workspace.manifest.name] ?? "";
  const isStrict = manager === "npm" && STRICT_DECLARATIONS.has(workspace.manifest.name);
  const strictness = isStrict ? [true, false] : [true];
  const resolutions = manager === "npm" ? (["nodenext", "bundler"] as const) : (["nodenext"] as const);
  const plans: Compilation[] = (["oldest", "newest"] as const).flatMap((compiler) =>
    resolutions.flatMap((moduleResolution) =>
      strictness.map((skipLibCheck) => ({ compiler, moduleResolution, skipLibCheck })),
    ),
  );
  return plans.map((plan) => ({
    name: `${basename(workspace.path)}: TypeScript ${plan.compiler === "oldest" ? oldest : newest} ${
      plan.moduleResolution
    }${plan.skipLibCheck ? "" : ", declarations too"}${manager === "npm" ? "" : `, by ${manager}`}`,
    run: () => compile(projectOf(workspace, manager), plan),
  }));
}

function planImports(workspace: Workspace): Step[] {
  const oldest = /\d+/.exec(workspace.manifest.engines?.node ?? "")?.[0] ?? "22";
  const current = process.versions.node.split(".")[0] ?? "24";
  return [...new Set([oldest, current])].map((major) => ({
    name: `${basename(workspace.path)}: imports on Node ${major}`,
    run: () => importEntryPoints(workspace, projectOf(workspace, "npm"), major),
  }));
}

function planPackage(workspace: Workspace): Step[] {
  const name = basename(workspace.path);
  return [
    { name: `${name}: files`, run: () => checkFiles(workspace) },
    {
      name: `${name}: publint`,
      run: () => run(bin("publint"), ["run", tarballOf(workspace).path, "--strict"]),
    },
    {
      name: `${name}: attw`,
      run: () =>
        run(bin("attw"), [tarballOf(workspace).path, "--profile", "esm-only", "--no-emoji", "--no-color"]),
    },
    { name: `${name}: consumer imports all`, run: () => expectNone(findUnusedEntryPoints(workspace)) },
    ...(["npm", "pnpm"] as const).flatMap((manager) => [
      { name: `${name}: stranger installs by ${manager}`, run: () => installFor(workspace, manager) },
      ...planCompilations(workspace, manager),
    ]),
    ...planImports(workspace),
  ];
}

try {
  await runStepsFromCommandLine([
    { name: "build and pack", run: buildAndPack },
    ...packages.flatMap(planPackage),
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
