/** `npm run check:packages`: builds and packs the packages, lints the tarballs and uses them from a project outside. */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isPage } from "./docs-blocks.ts";
import { isFollowed, readPage } from "./follow/page.ts";
import { pinVersion } from "./follow/versions.ts";
import { followPages } from "./follow/walk.ts";
import { compileGuide, runGuide } from "./guide.ts";
import { type FrameworkName, installFrameworks, mountIn } from "./mounting.ts";
import { bin, run, runTsc } from "./process.ts";
import { listFiles, listPackages, read, readManifest, root, type Workspace } from "./repository.ts";
import { expectNone, type Outcome, readCommandLine, runChosenSteps, type Step } from "./steps.ts";
import {
  type Compilation,
  type Compiler,
  compile,
  compileDeclarations,
  findUnusedEntryPoints,
  hasDeclarationSources,
  importEntryPoints,
  install,
  type PackageManager,
} from "./stranger.ts";
import { findStrayFiles, pack, type Tarball } from "./tarball.ts";

/** The oldest TypeScript each package promises to work with. */
const OLDEST_TYPESCRIPT: Readonly<Record<string, string>> = {
  "@halyard/sessions": "5.5.4",
  "@halyard/wire": "5.5.4",
  "@halyard/flags": "5.5.4",
  "@halyard/console": "5.5.4",
};

/** The last TypeScript whose compiler is written in JavaScript. */
const LAST_TYPESCRIPT_5 = "5.9.3";

/** Which compilers emit declaration files with which layout of `node_modules`. */
const DECLARATION_COMPILERS: Readonly<Record<PackageManager, readonly Compiler[]>> = {
  npm: ["oldest", "newest"],
  pnpm: ["last5", "newest"],
};

/** Packages whose consumers may set `skipLibCheck: false`. Better Auth's own declarations do not allow it. */
const STRICT_DECLARATIONS: ReadonlySet<string> = new Set(["@halyard/wire"]);

const MANAGERS = ["npm", "pnpm"] as const satisfies readonly PackageManager[];

/** The old compilers use one core each. */
const CONCURRENCY = 2;

const folder = mkdtempSync(join(tmpdir(), "halyard-packages-"));
const packages = listPackages();
const wire = findPackage("@halyard/wire");
const tarballs = new Map<string, Tarball>();

function findPackage(name: string): Workspace {
  const workspace = packages.find(({ manifest }) => manifest.name === name);
  if (workspace === undefined) throw new Error(`There is no package ${name}.`);
  return workspace;
}

async function buildAndPack(): Promise<Outcome> {
  // Built from nothing, so that no output of a deleted source is published.
  for (const { path } of packages) rmSync(join(root, path, "dist"), { recursive: true, force: true });
  const built = await runTsc(["-b", "tsconfig.build.json"]);
  if (!built.ok) return built;
  const app = await run("npm", ["run", "build", "--silent", "--workspace", "packages/console"]);
  if (!app.ok) return app;
  for (const workspace of packages) tarballs.set(workspace.manifest.name, await pack(workspace, folder));
  // A release publishes exactly these files.
  const kept = process.env["HALYARD_TARBALLS"];
  if (kept !== undefined) {
    mkdirSync(kept, { recursive: true });
    for (const { path } of tarballs.values()) copyFileSync(path, join(kept, basename(path)));
  }
  return { ok: true, output: "" };
}

/** Steps run side by side, so each waits for what it needs. */
let packed: Promise<Outcome> | undefined;
const installed = new Map<string, Promise<Outcome>>();

function packOnce(): Promise<Outcome> {
  packed ??= buildAndPack();
  return packed;
}

async function getTarball(workspace: Workspace): Promise<Tarball> {
  await packOnce();
  const tarball = tarballs.get(workspace.manifest.name);
  if (tarball === undefined)
    throw new Error(`${workspace.manifest.name} was not packed. See the step "build and pack".`);
  return tarball;
}

async function checkFiles(workspace: Workspace): Promise<Outcome> {
  const { files, bytes } = await getTarball(workspace);
  console.log(`  ${workspace.manifest.name}: ${files.length} files, ${(bytes / 1000).toFixed(1)} kB packed`);
  return expectNone(findStrayFiles(files));
}

function installOnce(workspace: Workspace, manager: PackageManager): Promise<Outcome> {
  const project = projectOf(workspace, manager);
  const outcome = installed.get(project) ?? installFor(workspace, manager);
  installed.set(project, outcome);
  return outcome;
}

async function installFor(workspace: Workspace, manager: PackageManager): Promise<Outcome> {
  const oldest = OLDEST_TYPESCRIPT[workspace.manifest.name];
  if (oldest === undefined)
    throw new Error(`Add the oldest TypeScript for ${workspace.manifest.name} to OLDEST_TYPESCRIPT.`);
  await getTarball(workspace);
  const paths = new Map([...tarballs].map(([name, tarball]) => [name, tarball.path]));
  const typescript = { oldest, last5: LAST_TYPESCRIPT_5 };
  return install(workspace, projectOf(workspace, manager), paths, typescript, manager);
}

/** Runs `action` in the project that has the package installed. */
async function useProject(
  workspace: Workspace,
  manager: PackageManager,
  action: (project: string) => Promise<Outcome>,
): Promise<Outcome> {
  const { ok } = await installOnce(workspace, manager);
  if (!ok) return { ok: false, output: `The installation by ${manager} failed. See its step.` };
  return action(projectOf(workspace, manager));
}

function projectOf(workspace: Workspace, manager: PackageManager): string {
  return join(folder, manager, basename(workspace.path));
}

function planCompilations(workspace: Workspace, manager: PackageManager): Step[] {
  const isStrict = manager === "npm" && STRICT_DECLARATIONS.has(workspace.manifest.name);
  const strictness = isStrict ? [true, false] : [true];
  const resolutions = manager === "npm" ? (["nodenext", "bundler"] as const) : (["nodenext"] as const);
  const plans: Compilation[] = (["oldest", "newest"] as const).flatMap((compiler) =>
    resolutions.flatMap((moduleResolution) =>
      strictness.map((skipLibCheck) => ({ compiler, moduleResolution, skipLibCheck })),
    ),
  );
  return plans.map((plan) => ({
    name: `${basename(workspace.path)}: TypeScript ${versionOf(workspace, plan.compiler)} ${
      plan.moduleResolution
    }${plan.skipLibCheck ? "" : ", declarations too"}${manager === "npm" ? "" : `, by ${manager}`}`,
    run: () => useProject(workspace, manager, (project) => compile(project, plan)),
  }));
}

function planDeclarations(workspace: Workspace, manager: PackageManager): Step[] {
  if (!hasDeclarationSources(workspace)) return [];
  return DECLARATION_COMPILERS[manager].map((compiler) => ({
    name: `${basename(workspace.path)}: composite projects, TypeScript ${versionOf(workspace, compiler)}, by ${manager}`,
    run: () => useProject(workspace, manager, (project) => compileDeclarations(project, compiler)),
  }));
}

function versionOf(workspace: Workspace, compiler: Compiler): string {
  if (compiler === "last5") return LAST_TYPESCRIPT_5;
  if (compiler === "oldest") return OLDEST_TYPESCRIPT[workspace.manifest.name] ?? "";
  return readManifest(".").devDependencies?.["typescript"] ?? "";
}

function planImports(workspace: Workspace): Step[] {
  const oldest = /\d+/.exec(workspace.manifest.engines?.node ?? "")?.[0] ?? "22";
  const current = process.versions.node.split(".")[0] ?? "24";
  return [...new Set([oldest, current])].map((major) => ({
    name: `${basename(workspace.path)}: imports on Node ${major}`,
    run: () => useProject(workspace, "npm", (project) => importEntryPoints(workspace, project, major)),
  }));
}

function planTarball(workspace: Workspace): Step[] {
  const name = basename(workspace.path);
  return [
    { name: `${name}: files`, run: () => checkFiles(workspace) },
    {
      name: `${name}: publint`,
      run: async () => run(bin("publint"), ["run", (await getTarball(workspace)).path, "--strict"]),
    },
    {
      name: `${name}: attw`,
      run: async () => {
        const { path } = await getTarball(workspace);
        return run(bin("attw"), [path, "--profile", "esm-only", "--no-emoji", "--no-color"]);
      },
    },
    { name: `${name}: consumer imports all`, run: () => expectNone(findUnusedEntryPoints(workspace)) },
  ];
}

/** Built by `mounting.ts`, with more requests than the page shows. */
const BUILT: ReadonlySet<string> = new Set(["docs/guide/flags-mounting.md"]);

/**
 * What to install for a package's name. npm would install the newest version of a required peer, which may not fit the
 * pinned versions of the others, so the peers are pinned too.
 */
function specify(name: string): readonly string[] | undefined {
  const { path } = tarballs.get(name) ?? {};
  const pinned = pinVersion(name);
  if (path === undefined) return pinned === undefined ? undefined : [pinned];
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = findPackage(name).manifest;
  // A package of this repository may need another one, which the registry does not have in this version.
  const ours = Object.keys(dependencies).flatMap((needed) => tarballs.get(needed)?.path ?? []);
  const required = Object.keys(peerDependencies).filter(
    (peer) => peerDependenciesMeta[peer]?.optional !== true,
  );
  return [path, ...ours, ...required.flatMap((peer) => pinVersion(peer) ?? [])];
}

/** Follows the pages that start in an empty folder, then starts the first examples of the other pages of wire. */
async function followAll(): Promise<Outcome> {
  await packOnce();
  // Marked pages are followed when they are chosen: all of them take longer than the rest of the run.
  const chosen = process.env["HALYARD_PAGES"];
  const readings = listFiles()
    .filter((file) => isPage(file) && !BUILT.has(file))
    .filter((file) => isFollowed(file, chosen === undefined ? "" : read(file)))
    .filter((file) => file.includes(chosen ?? ""))
    .map((page) => readPage(page, read(page)));
  const problems = readings.flatMap((reading) => reading.problems);
  if (problems.length > 0) return expectNone(problems);
  const followed = await followPages({
    walks: readings.flatMap(({ walks }) => walks),
    folder: join(folder, "followed"),
    specify,
  });
  if (chosen !== undefined) return followed;
  const guide = await useProject(wire, "npm", runGuide);
  return expectNone([followed, guide].filter(({ ok }) => !ok).map(({ output }) => output));
}

let frameworks: Promise<Outcome> | undefined;

function installFrameworksOnce(): Promise<Outcome> {
  frameworks ??= packOnce().then(() => {
    const paths = new Map([...tarballs].map(([name, tarball]) => [name, tarball.path]));
    return installFrameworks(join(folder, "mounting"), paths);
  });
  return frameworks;
}

function planMounting(title: string, ...names: readonly FrameworkName[]): Step {
  return {
    name: `flags: mounted in ${title}`,
    async run() {
      const { ok } = await installFrameworksOnce();
      if (!ok) return { ok: false, output: "The frameworks were not installed. See that step." };
      const outcomes: Outcome[] = [];
      for (const name of names) outcomes.push(await mountIn(name, join(folder, "mounting")));
      return expectNone(outcomes.filter((outcome) => !outcome.ok).map(({ output }) => output));
    },
  };
}

const projects = MANAGERS.flatMap((manager) => packages.map((workspace) => ({ workspace, manager })));

try {
  await runChosenSteps(
    [
      { name: "build and pack", run: packOnce },
      ...projects.map(({ workspace, manager }) => ({
        name: `${basename(workspace.path)}: stranger installs by ${manager}`,
        run: () => installOnce(workspace, manager),
      })),
      ...packages.flatMap(planTarball),
      ...projects.flatMap(({ workspace, manager }) => planCompilations(workspace, manager)),
      ...projects.flatMap(({ workspace, manager }) => planDeclarations(workspace, manager)),
      ...packages.flatMap(planImports),
      ...(["oldest", "last5", "newest"] as const).map((compiler) => ({
        name: `wire: guide, TypeScript ${versionOf(wire, compiler)}`,
        run: () => useProject(wire, "npm", (project) => compileGuide(project, compiler)),
      })),
      {
        // One step, because the pages listen on the same ports.
        name: "pages followed from an empty folder; first examples of wire's guide",
        run: followAll,
      },
      { name: "flags: frameworks are installed", run: installFrameworksOnce },
      planMounting("Next.js", "next"),
      planMounting("Hono, Express and Fastify", "hono", "express", "fastify"),
      planMounting("SvelteKit", "svelte"),
    ],
    readCommandLine(),
    { concurrency: CONCURRENCY },
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
