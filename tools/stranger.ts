/** A project outside the repository: installs the published packages, compiles against them and imports them. */

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { bin, run, runTsc } from "./process.ts";
import { scopeSetting } from "./release/registry.ts";
import {
  listEntryPoints,
  listWorkspaces,
  type Manifest,
  readManifest,
  root,
  type Workspace,
} from "./repository.ts";
import { expectNone, type Outcome } from "./steps.ts";

/** `newest` is the TypeScript of this repository; the others are installed in the project. */
export type Compiler = "oldest" | "last5" | "newest";

export interface Compilation {
  readonly compiler: Compiler;
  readonly moduleResolution: "nodenext" | "bundler";
  readonly skipLibCheck: boolean;
}

/** Where the consumer sources of a package are kept. */
function consumerFolder(workspace: Workspace): string {
  return join(root, "tools", "consumers", basename(workspace.path));
}

/** Sources that are compiled alone, so that a declaration file can name only what its own imports export. */
const DECLARATIONS = "declarations";

function readConsumer(workspace: Workspace): string {
  const folder = consumerFolder(workspace);
  return readdirSync(folder)
    .filter((file) => file !== DECLARATIONS)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
}

/** The entry points that the consumer sources do not import. */
export function findUnusedEntryPoints(workspace: Workspace): string[] {
  if (!existsSync(consumerFolder(workspace))) {
    return [`tools/consumers/${basename(workspace.path)}/ does not exist.`];
  }
  const text = readConsumer(workspace);
  return listEntryPoints(workspace.manifest)
    .filter((entry) => !text.includes(`"${entry}"`))
    .map((entry) => `tools/consumers/${basename(workspace.path)}/ does not import "${entry}".`);
}

/**
 * npm and Bun put all packages side by side, so one project holds every package. With pnpm a package finds only those
 * that it declares, types included, so each package has a project of its own.
 */
export type PackageManager = "npm" | "pnpm" | "bun";

/** A project that uses packages of this repository. */
export interface Project {
  readonly folder: string;
  readonly packages: readonly Workspace[];
  readonly manager: PackageManager;
}

export interface Source {
  /** The registry that has the packages of this repository. */
  readonly registryUrl: string;
  /** Hashes of the tarballs, by package. */
  readonly integrities: ReadonlyMap<string, string>;
}

/**
 * Writes the project and installs the packages by their names, as a stranger does. Peers have the exact version that
 * the package is developed with.
 */
export async function install(
  { folder, packages, manager }: Project,
  { registryUrl, integrities }: Source,
  typescript: Readonly<Record<Exclude<Compiler, "newest">, string>>,
): Promise<Outcome> {
  const versions: Record<string, string> = {
    "@types/node": readManifest(".").devDependencies?.["@types/node"] ?? "*",
    "typescript-oldest": `npm:typescript@${typescript.oldest}`,
    "typescript-last5": `npm:typescript@${typescript.last5}`,
  };
  for (const workspace of packages) {
    const { name, peerDependencies = {}, devDependencies = {} } = workspace.manifest;
    cpSync(consumerFolder(workspace), join(folder, basename(workspace.path)), { recursive: true });
    // A stranger who imports another package of this repository installs it, too.
    const text = readConsumer(workspace);
    const imported = listOwnDependencies(name).filter((dependency) => text.includes(`from "${dependency}`));
    for (const dependency of [name, ...imported, ...Object.keys(peerDependencies)]) {
      const version = versionOfOwn(dependency) ?? devDependencies[dependency];
      if (version === undefined) {
        const advice = "list it in devDependencies too, with an exact version to test with";
        return { ok: false, output: `${dependency} is a peer of ${name}: ${advice}.` };
      }
      versions[dependency] = version;
    }
    for (const [dependency, version] of Object.entries(devDependencies)) {
      if (dependency.startsWith("@types/")) versions[dependency] = version;
    }
    // The newest version of such a peer may not fit the pinned versions of the others.
    for (const peer of listPeersOfOwn(listOwnDependencies(name))) {
      const version = devDependencies[peer];
      if (version !== undefined) versions[peer] ??= version;
    }
  }
  const manifest = { name: "stranger", private: true, type: "module", dependencies: versions };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  writeFileSync(join(folder, ".npmrc"), `${scopeSetting(registryUrl)}\n`);
  const { command, args, env, lock } = INSTALL[manager];
  const installed = await run(command, args, { cwd: folder, env: env(folder) });
  if (!installed.ok) return installed;
  return expectNone(findOlderPackages(readFileSync(join(folder, lock), "utf8"), packages, integrities));
}

/** Packages that a cache of the package manager provided, from a rehearsal with another build of the same version. */
function findOlderPackages(
  lock: string,
  packages: readonly Workspace[],
  integrities: ReadonlyMap<string, string>,
): string[] {
  return packages
    .map(({ manifest }) => manifest.name)
    .filter((name) => !lock.includes(integrities.get(name) ?? "unknown"))
    .map(
      (name) => `The lock file has another build of ${name} than was published. Clear the manager's cache.`,
    );
}

function versionOfOwn(name: string): string | undefined {
  return name.startsWith("@halyard/") ? findOwn(name)?.version : undefined;
}

function findOwn(name: string): Manifest | undefined {
  return listWorkspaces().find(({ manifest }) => manifest.name === name)?.manifest;
}

/** The packages of this repository that a package needs, also by way of another one. */
function listOwnDependencies(name: string, found: Set<string> = new Set([name])): string[] {
  const { dependencies = {}, peerDependencies = {} } = findOwn(name) ?? {};
  for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) {
    if (!dependency.startsWith("@halyard/") || found.has(dependency)) continue;
    found.add(dependency);
    listOwnDependencies(dependency, found);
  }
  return [...found];
}

/** The peers that packages of this repository need. */
function listPeersOfOwn(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const { peerDependencies = {}, peerDependenciesMeta = {} } = findOwn(name) ?? {};
    return Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  });
}

interface Installer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: (folder: string) => Readonly<Record<string, string>>;
  readonly lock: string;
}

const INSTALL: Readonly<Record<PackageManager, Installer>> = {
  npm: {
    command: "npm",
    args: ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"],
    env: () => ({}),
    lock: "package-lock.json",
  },
  pnpm: {
    command: bin("pnpm"),
    args: ["install", "--ignore-workspace", "--ignore-scripts", "--prefer-offline", "--reporter=silent"],
    env: () => ({}),
    lock: "pnpm-lock.yaml",
  },
  bun: {
    command: bin("bun"),
    args: ["install", "--ignore-scripts", "--silent"],
    // Bun's cache knows a package by version and host, which another rehearsal has too.
    env: (folder) => ({ BUN_INSTALL_CACHE_DIR: join(folder, ".cache") }),
    lock: "bun.lock",
  },
};

/** Compiles the consumer sources of these packages in one program. */
export async function compile(
  folder: string,
  packages: readonly Workspace[],
  compilation: Compilation,
): Promise<Outcome> {
  const { compiler, moduleResolution, skipLibCheck } = compilation;
  const name = `${compiler}-${moduleResolution}-${skipLibCheck ? "skip" : "full"}`;
  const project = join(folder, `tsconfig.${name}.json`);
  const config = {
    compilerOptions: {
      target: "ES2022",
      lib: ["ES2022", "DOM", "DOM.Iterable", "ESNext.Disposable"],
      module: moduleResolution === "nodenext" ? "nodenext" : "esnext",
      moduleResolution,
      moduleDetection: "force",
      types: ["node"],
      jsx: "react-jsx",
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck,
      // A user must be able to emit declarations for exports, wherever the package manager keeps the packages.
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: ".",
      outDir: `types/${name}`,
    },
    include: packages.flatMap(({ path }) => [`${basename(path)}/*.ts`, `${basename(path)}/*.tsx`]),
  };
  writeFileSync(project, JSON.stringify(config, null, 2));
  return runCompiler(folder, compiler, ["-p", project]);
}

/** Runs one of the compilers that are installed in the project. */
export function runCompiler(folder: string, compiler: Compiler, args: readonly string[]): Promise<Outcome> {
  if (compiler === "newest") return runTsc(args, { cwd: folder });
  const tsc = join(folder, "node_modules", `typescript-${compiler}`, "bin", "tsc");
  return run(process.execPath, [tsc, ...args, "--pretty", "false"], { cwd: folder });
}

/** Whether the package has sources for `compileDeclarations`. */
export function hasDeclarationSources(workspace: Workspace): boolean {
  return existsSync(join(consumerFolder(workspace), DECLARATIONS));
}

/**
 * Emits the declaration files of packages that use this one. Each source is a `composite` project of its own: in one
 * project, a source that imports another entry point would provide the names that a declaration file is missing.
 */
export async function compileDeclarations(
  project: string,
  workspace: Workspace,
  compiler: Compiler,
): Promise<Outcome> {
  const folder = join(project, basename(workspace.path), DECLARATIONS);
  const names = readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length));
  const configOf = (name: string): string => `tsconfig.${compiler}.${name}.json`;
  for (const name of names) {
    const imports = readFileSync(join(folder, `${name}.ts`), "utf8").matchAll(/ from "\.\/([\w-]+)\.js"/g);
    const config = {
      compilerOptions: {
        target: "ES2022",
        lib: ["ES2022", "DOM", "DOM.Iterable", "ESNext.Disposable"],
        module: "nodenext",
        moduleDetection: "force",
        types: ["node"],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: true,
        composite: true,
        emitDeclarationOnly: true,
        outDir: `types-${compiler}`,
        tsBuildInfoFile: `types-${compiler}/${name}.tsbuildinfo`,
      },
      files: [`${name}.ts`],
      references: [...imports].map(([, imported = ""]) => ({ path: configOf(imported) })),
    };
    writeFileSync(join(folder, configOf(name)), JSON.stringify(config, null, 2));
  }
  const solution = join(folder, `tsconfig.${compiler}.json`);
  const references = names.map((name) => ({ path: configOf(name) }));
  writeFileSync(solution, JSON.stringify({ files: [], references }, null, 2));
  return runCompiler(project, compiler, ["-b", solution]);
}

/** Imports every entry point with a real Node of that major version, or with Bun. */
export async function importEntryPoints(
  packages: readonly Workspace[],
  folder: string,
  runtime: string,
): Promise<Outcome> {
  const entries = packages.flatMap(({ manifest }) => listEntryPoints(manifest));
  const file = join(folder, `smoke-${runtime}.mjs`);
  const lines = entries.map((entry) => `await import(${JSON.stringify(entry)});`);
  const report = 'console.log("imported on", process.versions.bun === undefined ? process.version : "bun");';
  writeFileSync(file, `${lines.join("\n")}\n${report}\n`);
  const program = runtime === "bun" ? bin("bun") : await findNode(runtime);
  const finished = await run(program, [file], { cwd: folder });
  if (!finished.ok) return finished;
  const expected = runtime === "bun" ? " on bun" : ` on v${runtime}.`;
  return expectNone(finished.output.includes(expected) ? [] : [`Not ${runtime}: ${finished.output}`]);
}

const nodes = new Map<string, Promise<string>>();

/** Steps run side by side, and two installations in one folder break each other. */
function findNode(major: string): Promise<string> {
  const node = nodes.get(major) ?? installNode(major);
  nodes.set(major, node);
  return node;
}

/** A Node of this major version: the running one, or the npm package `node` in the user's cache folder. */
async function installNode(major: string): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "halyard", `node-${major}`);
  const node = join(folder, "node_modules", ".bin", "node");
  if (existsSync(node)) return node;
  mkdirSync(dirname(folder), { recursive: true });
  // Another rehearsal may install at the same time, so the folder gets its name when it is complete.
  // Only an interrupted installation of an earlier version has the name without the program.
  if (existsSync(folder) && !existsSync(node)) rmSync(folder, { recursive: true });
  const unnamed = mkdtempSync(`${folder}.`);
  const { ok, output } = await run("npm", [
    "install",
    "--prefix",
    unnamed,
    "--loglevel=error",
    `node@${major}`,
  ]);
  if (!ok) throw new Error(`Cannot install Node ${major}:\n${output}`);
  try {
    renameSync(unnamed, folder);
  } catch (error) {
    rmSync(unnamed, { recursive: true });
    if (!existsSync(node)) throw error;
  }
  return node;
}
