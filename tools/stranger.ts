/** A project that is not ours: installs the packed tarballs, compiles against them and imports them. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { bin, run } from "./process.ts";
import { listEntryPoints, readManifest, root, type Workspace } from "./repository.ts";
import { expectNone, type Outcome } from "./steps.ts";

export interface Compilation {
  readonly compiler: "oldest" | "newest";
  readonly moduleResolution: "nodenext" | "bundler";
  readonly skipLibCheck: boolean;
}

/** Where the consumer sources of a package are kept. */
function consumerFolder(workspace: Workspace): string {
  return join(root, "tools", "consumers", basename(workspace.path));
}

/** The entry points that the consumer sources do not import. */
export function findUnusedEntryPoints(workspace: Workspace): string[] {
  const folder = consumerFolder(workspace);
  if (!existsSync(folder)) return [`tools/consumers/${basename(workspace.path)}/ does not exist.`];
  const text = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
  return listEntryPoints(workspace.manifest)
    .filter((entry) => !text.includes(`"${entry}"`))
    .map((entry) => `tools/consumers/${basename(workspace.path)}/ does not import "${entry}".`);
}

/** npm puts all packages side by side; pnpm lets each see only those it names, which types must survive too. */
export type PackageManager = "npm" | "pnpm";

/**
 * Writes and installs the project in `folder`. Peers come at the exact version the package is developed with,
 * or as the tarball if they are ours.
 */
export async function install(
  workspace: Workspace,
  folder: string,
  tarballs: ReadonlyMap<string, string>,
  oldestTypescript: string,
  manager: PackageManager,
): Promise<Outcome> {
  mkdirSync(folder, { recursive: true });
  cpSync(consumerFolder(workspace), folder, { recursive: true });
  const { name, peerDependencies = {}, devDependencies = {} } = workspace.manifest;
  const versions: Record<string, string> = {
    "@types/node": readManifest(".").devDependencies?.["@types/node"] ?? "*",
    "typescript-oldest": `npm:typescript@${oldestTypescript}`,
  };
  for (const dependency of [name, ...Object.keys(peerDependencies)]) {
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
  const manifest = { name: "stranger", private: true, type: "module", dependencies: versions };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const [command, args] = INSTALL[manager];
  return run(command, args, { cwd: folder });
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
  const project = join(folder, `tsconfig.${moduleResolution}-${skipLibCheck ? "skip" : "full"}.json`);
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
      // What a user exports must have a type that can be written down, from any place a package may be kept in.
      declaration: true,
      emitDeclarationOnly: true,
      outDir: "types",
    },
    include: ["*.ts", "*.tsx"],
  };
  writeFileSync(project, JSON.stringify(config, null, 2));
  const oldest = join(folder, "node_modules", "typescript-oldest", "bin", "tsc");
  const [command, args] = compiler === "oldest" ? [process.execPath, [oldest]] : [bin("tsc"), []];
  return run(command, [...args, "--pretty", "false", "-p", project], { cwd: folder });
}

/** Imports every entry point with a real Node of that major version. */
export async function importEntryPoints(
  workspace: Workspace,
  folder: string,
  major: string,
): Promise<Outcome> {
  const entries = listEntryPoints(workspace.manifest);
  const file = join(folder, "smoke.mjs");
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

/** A Node of the wanted major version: the running one, or the npm package `node`, kept in the cache folder. */
async function findNode(major: string): Promise<string> {
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
