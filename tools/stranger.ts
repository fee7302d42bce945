/** A project outside the repository: installs the packed tarballs, compiles against them and imports them. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { bin, run, runTsc } from "./process.ts";
import { listEntryPoints, listWorkspaces, readManifest, root, type Workspace } from "./repository.ts";
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

/** The entry points that the consumer sources do not import. */
export function findUnusedEntryPoints(workspace: Workspace): string[] {
  const folder = consumerFolder(workspace);
  if (!existsSync(folder)) return [`tools/consumers/${basename(workspace.path)}/ does not exist.`];
  const text = readdirSync(folder)
    .filter((file) => file !== DECLARATIONS)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
  return listEntryPoints(workspace.manifest)
    .filter((entry) => !text.includes(`"${entry}"`))
    .map((entry) => `tools/consumers/${basename(workspace.path)}/ does not import "${entry}".`);
}

/** npm puts all packages side by side; with pnpm a package finds only those that it declares, types included. */
export type PackageManager = "npm" | "pnpm";

/**
 * Writes and installs the project in `folder`. Peers have the exact version that the package is developed with;
 * those from this repository are installed from their tarballs.
 */
export async function install(
  workspace: Workspace,
  folder: string,
  tarballs: ReadonlyMap<string, string>,
  typescript: Readonly<Record<Exclude<Compiler, "newest">, string>>,
  manager: PackageManager,
): Promise<Outcome> {
  mkdirSync(folder, { recursive: true });
  cpSync(consumerFolder(workspace), folder, { recursive: true });
  const { name, peerDependencies = {}, devDependencies = {} } = workspace.manifest;
  const ownDependencies = listOwnDependencies(name);
  const versions: Record<string, string> = {
    "@types/node": readManifest(".").devDependencies?.["@types/node"] ?? "*",
    "typescript-oldest": `npm:typescript@${typescript.oldest}`,
    "typescript-last5": `npm:typescript@${typescript.last5}`,
  };
  for (const dependency of [name, ...ownDependencies, ...Object.keys(peerDependencies)]) {
    const tarball = tarballs.get(dependency);
    const version = tarball === undefined ? devDependencies[dependency] : `file:${tarball}`;
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
  for (const peer of listPeersOfOwn(Object.keys(versions).filter((dependency) => tarballs.has(dependency)))) {
    const version = devDependencies[peer];
    if (version !== undefined) versions[peer] ??= version;
  }
  // No registry has these versions yet.
  const overrides = Object.fromEntries(
    ownDependencies.map((dependency) => [dependency, versions[dependency]]),
  );
  const manifest = {
    name: "stranger",
    private: true,
    type: "module",
    dependencies: versions,
    overrides,
    pnpm: { overrides },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const [command, args] = INSTALL[manager];
  return run(command, args, { cwd: folder });
}

/** The packages of this repository that a package needs, also by way of another one. */
function listOwnDependencies(name: string, found: Set<string> = new Set()): string[] {
  const { dependencies = {}, peerDependencies = {} } =
    listWorkspaces().find(({ manifest }) => manifest.name === name)?.manifest ?? {};
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
    const workspace = listWorkspaces().find(({ manifest }) => manifest.name === name);
    const { peerDependencies = {}, peerDependenciesMeta = {} } = workspace?.manifest ?? {};
    return Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  });
}

const INSTALL: Readonly<Record<PackageManager, readonly [string, readonly string[]]>> = {
  npm: ["npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"]],
  pnpm: [
    bin("pnpm"),
    ["install", "--ignore-workspace", "--ignore-scripts", "--prefer-offline", "--reporter=silent"],
  ],
};

export async function compile(folder: string, compilation: Compilation): Promise<Outcome> {
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
      outDir: `types/${name}`,
    },
    include: ["*.ts", "*.tsx"],
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
export async function compileDeclarations(project: string, compiler: Compiler): Promise<Outcome> {
  const folder = join(project, DECLARATIONS);
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

/** Imports every entry point with a real Node of that major version. */
export async function importEntryPoints(
  workspace: Workspace,
  folder: string,
  major: string,
): Promise<Outcome> {
  const entries = listEntryPoints(workspace.manifest);
  const file = join(folder, `smoke-${major}.mjs`);
  const lines = entries.map((entry) => `await import(${JSON.stringify(entry)});`);
  writeFileSync(
    file,
    `${lines.join("\n")}\nconsole.log("imported ${entries.length} on", process.version);\n`,
  );
  const finished = await run(await findNode(major), [file], { cwd: folder });
  if (!finished.ok) return finished;
  return expectNone(
    finished.output.includes(` on v${major}.`) ? [] : [`Not Node ${major}: ${finished.output}`],
  );
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
  mkdirSync(folder, { recursive: true });
  const { ok, output } = await run("npm", [
    "install",
    "--prefix",
    folder,
    "--loglevel=error",
    `node@${major}`,
  ]);
  if (!ok) throw new Error(`Cannot install Node ${major}:\n${output}`);
  return node;
}
