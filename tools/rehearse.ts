/**
 * `npm run rehearse`: a release on this machine. Builds and packs the packages, publishes them to a local registry,
 * installs them in fresh folders, and uses them there as strangers do.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isFullSize } from "@halyard/services";
import { isPage } from "./docs-blocks.ts";
import { isFollowed, readPage } from "./follow/page.ts";
import { pinVersion } from "./follow/versions.ts";
import { followPages } from "./follow/walk.ts";
import { compileGuide, runGuide } from "./guide.ts";
import { type FrameworkName, installFrameworks, mountIn } from "./mounting.ts";
import { type Bundler, driveNextApp, type NextDatabase } from "./mounting-next.ts";
import { bin, run } from "./process.ts";
import { scopeSetting } from "./release/registry.ts";
import { Release } from "./release/release.ts";
import { writeBill } from "./release/sbom.ts";
import { findStrayFiles } from "./release/tarball.ts";
import { rehearseVersions } from "./release/versions.ts";
import { listFiles, listPackages, read, readManifest, type Workspace } from "./repository.ts";
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
  type Project,
} from "./stranger.ts";

/** The oldest TypeScript that the packages promise to work with, and the last whose compiler is JavaScript. */
const TYPESCRIPT = { oldest: "5.5.4", last5: "5.9.3" } as const;

/** Packages whose consumers may set `skipLibCheck: false`. Better Auth's own declarations do not allow it. */
const STRICT_DECLARATIONS: ReadonlySet<string> = new Set(["@halyard/base", "@halyard/wire"]);

/** Three steps keep two cores busy: the pages and the installation of the frameworks wait more than they compute. */
const CONCURRENCY = 3;

const folder = mkdtempSync(join(tmpdir(), "halyard-rehearsal-"));
const packages = listPackages();
const release = new Release(packages, folder);

const byNpm = planProject("npm", packages);
const byBun = planProject("bun", packages);
const byPnpm: ReadonlyMap<Workspace, Project> = new Map(
  packages.map((workspace) => [workspace, planProject("pnpm", [workspace])]),
);
const projects: readonly Project[] = [byNpm, byBun, ...byPnpm.values()];

function planProject(manager: PackageManager, chosen: readonly Workspace[]): Project {
  const [first, ...others] = chosen;
  const name = first !== undefined && others.length === 0 ? basename(first.path) : "all";
  const place = join(folder, manager, name);
  mkdirSync(place, { recursive: true });
  return { folder: place, packages: chosen, manager };
}

function findPackage(name: string): Workspace {
  const workspace = packages.find(({ manifest }) => manifest.name === name);
  if (workspace === undefined) throw new Error(`There is no package ${name}.`);
  return workspace;
}

const installed = new Map<Project, Promise<Outcome>>();

/** Steps run side by side, so each waits for what it needs. */
function installOnce(project: Project): Promise<Outcome> {
  const outcome = installed.get(project) ?? installProject(project);
  installed.set(project, outcome);
  return outcome;
}

async function installProject(project: Project): Promise<Outcome> {
  const registryUrl = await release.registryUrl();
  const integrities = new Map<string, string>();
  for (const { manifest } of packages) {
    integrities.set(manifest.name, (await release.tarballOf(manifest.name)).integrity);
  }
  return install(project, { registryUrl, integrities }, TYPESCRIPT);
}

/** Runs `action` in the project that has the packages installed. */
async function useProject(
  project: Project,
  action: (project: Project) => Promise<Outcome>,
): Promise<Outcome> {
  const { ok } = await installOnce(project);
  if (!ok) return { ok: false, output: `The installation by ${project.manager} failed. See its step.` };
  return action(project);
}

function titleOf({ packages: [first, ...others] }: Project): string {
  return first !== undefined && others.length === 0 ? `${basename(first.path)}: ` : "";
}

function planCompilation(project: Project, plan: Compilation, chosen = project.packages): Step {
  const { compiler, moduleResolution, skipLibCheck } = plan;
  const subject = titleOf({ ...project, packages: chosen });
  const strictness = skipLibCheck ? "" : ", declarations too";
  return {
    name: `${subject}TypeScript ${versionOf(compiler)} ${moduleResolution}${strictness}, by ${project.manager}`,
    run: () => useProject(project, ({ folder: place }) => compile(place, chosen, plan)),
  };
}

/** Every package with both resolutions by npm; each alone by pnpm, which shows types that a user cannot name. */
function planCompilations(): Step[] {
  const compilers = ["oldest", "newest"] as const;
  const resolutions = ["nodenext", "bundler"] as const;
  const strict = packages.filter(({ manifest }) => STRICT_DECLARATIONS.has(manifest.name));
  return compilers.flatMap((compiler) => [
    ...resolutions.flatMap((moduleResolution) => [
      planCompilation(byNpm, { compiler, moduleResolution, skipLibCheck: true }),
      ...strict.map((workspace) =>
        planCompilation(byNpm, { compiler, moduleResolution, skipLibCheck: false }, [workspace]),
      ),
    ]),
    ...[...byPnpm.values()].map((project) =>
      planCompilation(project, { compiler, moduleResolution: "nodenext", skipLibCheck: true }),
    ),
  ]);
}

/** Which compilers emit declaration files with which layout of `node_modules`. */
function planDeclarations(workspace: Workspace): Step[] {
  const pnpm = byPnpm.get(workspace);
  if (!hasDeclarationSources(workspace) || pnpm === undefined) return [];
  const plans: readonly (readonly [Project, Compiler])[] = [
    [byNpm, "oldest"],
    [byNpm, "newest"],
    [pnpm, "last5"],
    [pnpm, "newest"],
  ];
  return plans.map(([project, compiler]) => ({
    name: `${basename(workspace.path)}: composite projects, TypeScript ${versionOf(compiler)}, by ${project.manager}`,
    run: () => useProject(project, ({ folder: place }) => compileDeclarations(place, workspace, compiler)),
  }));
}

function versionOf(compiler: Compiler): string {
  if (compiler !== "newest") return TYPESCRIPT[compiler];
  return readManifest(".").devDependencies?.["typescript"] ?? "";
}

function planImports(): Step[] {
  const oldest = packages.map(({ manifest }) => /\d+/.exec(manifest.engines?.node ?? "")?.[0] ?? "22");
  const current = process.versions.node.split(".")[0] ?? "24";
  const importIn = (project: Project, runtime: string) => (): Promise<Outcome> =>
    useProject(project, ({ folder: place }) => importEntryPoints(packages, place, runtime));
  return [
    ...[...new Set([...oldest, current])].map((major) => ({
      name: `imports on Node ${major}`,
      run: importIn(byNpm, major),
    })),
    { name: "imports on Bun", run: importIn(byBun, "bun") },
  ];
}

async function checkFiles({ manifest }: Workspace): Promise<Outcome> {
  const { files, bytes } = await release.tarballOf(manifest.name);
  console.log(`  ${manifest.name}: ${files.length} files, ${(bytes / 1000).toFixed(1)} kB packed`);
  return expectNone(findStrayFiles(files));
}

function planTarball(workspace: Workspace): Step[] {
  const { name, dependencies = {} } = workspace.manifest;
  const title = basename(workspace.path);
  const pathOf = async (): Promise<string> => (await release.tarballOf(name)).path;
  return [
    { name: `${title}: files`, run: () => checkFiles(workspace) },
    { name: `${title}: publint`, run: async () => run(bin("publint"), ["run", await pathOf(), "--strict"]) },
    {
      name: `${title}: attw`,
      run: async () =>
        run(bin("attw"), [await pathOf(), "--profile", "esm-only", "--no-emoji", "--no-color"]),
    },
    { name: `${title}: consumer imports all`, run: () => expectNone(findUnusedEntryPoints(workspace)) },
    {
      name: `${title}: bill of materials`,
      run: async () => writeBill(await pathOf(), await release.registryUrl(), Object.keys(dependencies)),
    },
  ];
}

/** Built by `mounting.ts` and `mounting-next.ts`, with more requests than the page shows. */
const BUILT: ReadonlySet<string> = new Set(["docs/guide/flags-mounting.md", "docs/guide/flags-nextjs.md"]);

/**
 * What to install for a package's name. npm would install the newest version of a required peer, which may not fit the
 * pinned versions of the others, so the peers are pinned too.
 */
function specify(name: string): readonly string[] | undefined {
  const version = release.versionOf(name);
  const pinned = pinVersion(name);
  if (version === undefined) return pinned === undefined ? undefined : [pinned];
  const { peerDependencies = {}, peerDependenciesMeta = {} } = findPackage(name).manifest;
  const required = Object.keys(peerDependencies).filter(
    (peer) => peerDependenciesMeta[peer]?.optional !== true,
  );
  return [`${name}@${version}`, ...required.flatMap((peer) => pinVersion(peer) ?? [])];
}

/** Follows the pages that start in an empty folder, then starts the first examples of the other pages of wire. */
async function followAll(): Promise<Outcome> {
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
    npmArgs: [`--${scopeSetting(await release.registryUrl())}`],
  });
  if (chosen !== undefined) return followed;
  const guide = await useProject(byNpm, (project) => runGuide(project.folder));
  return expectNone([followed, guide].filter(({ ok }) => !ok).map(({ output }) => output));
}

let frameworks: Promise<Outcome> | undefined;

function installFrameworksOnce(): Promise<Outcome> {
  frameworks ??= release
    .registryUrl()
    .then((registryUrl) => installFrameworks(join(folder, "mounting"), packages, registryUrl));
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

/** Each bundler and each database once. The long suite drives every combination. */
const NEXT_APPS: readonly (readonly [Bundler, NextDatabase])[] = [
  ["Turbopack", "PostgreSQL"],
  ["webpack", "SQLite"],
  ...(isFullSize
    ? ([
        ["Turbopack", "SQLite"],
        ["webpack", "PostgreSQL"],
      ] as const)
    : []),
];

function planNextApp(bundler: Bundler, database: NextDatabase): Step {
  return {
    name: `flags: whole app in Next.js, ${bundler}, ${database}`,
    async run() {
      const { ok } = await installFrameworksOnce();
      if (!ok) return { ok: false, output: "The frameworks were not installed. See that step." };
      return driveNextApp(join(folder, "mounting"), bundler, database);
    },
  };
}

try {
  await runChosenSteps(
    [
      { name: "build and pack", run: () => release.pack() },
      { name: "published to a local registry", run: () => release.publish() },
      { name: "versions and changelogs of the next release", run: rehearseVersions },
      {
        // One step, because the pages listen on the same ports. Early, because it waits more than it computes.
        name: "pages followed from an empty folder; first examples of wire's guide",
        run: followAll,
      },
      // Early too: the builds of the frameworks are the longest steps, and need it.
      { name: "flags: frameworks are installed", run: installFrameworksOnce },
      ...projects.map((project) => ({
        name: `${titleOf(project)}installed by ${project.manager}`,
        run: () => installOnce(project),
      })),
      ...packages.flatMap(planTarball),
      planMounting("Next.js, with publishes of wire", "next"),
      ...NEXT_APPS.map(([bundler, database]) => planNextApp(bundler, database)),
      planMounting("Hono, Express and Fastify", "hono", "express", "fastify"),
      planMounting("SvelteKit", "svelte"),
      planMounting("React Router", "react-router"),
      planMounting("Nuxt", "nuxt"),
      ...planCompilations(),
      ...packages.flatMap(planDeclarations),
      ...planImports(),
      ...(["oldest", "last5", "newest"] as const).map((compiler) => ({
        name: `wire: guide, TypeScript ${versionOf(compiler)}`,
        run: () => useProject(byNpm, (project) => compileGuide(project.folder, compiler)),
      })),
    ],
    readCommandLine(),
    { concurrency: CONCURRENCY },
  );
} finally {
  await release.close();
  rmSync(folder, { recursive: true, force: true });
}
