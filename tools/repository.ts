/** Where the repository is and what it contains: files that are or could be committed, workspaces, packages. */

import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

export const root: string = dirname(import.meta.dirname);

/** Where a tool keeps a file that makes its next run faster: relative to the root, and never needed. */
export function cachePath(name: string): string {
  return `node_modules/.cache/halyard/${name}`;
}

/** The part of a package.json that the tools read. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly workspaces?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface Workspace {
  /** Path from the root, with forward slashes. */
  readonly path: string;
  readonly manifest: Manifest;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}

/** Every workspace that has a package.json, in the order of their paths. */
export function listWorkspaces(): Workspace[] {
  const patterns = readManifest(".").workspaces ?? [];
  const files = globSync(
    patterns.map((pattern) => `${pattern}/package.json`),
    { cwd: root },
  );
  return files
    .map((file) => dirname(file).replaceAll("\\", "/"))
    .sort()
    .map((path) => ({ path, manifest: readManifest(path) }));
}

/** The workspaces that are published. */
export function listPackages(): Workspace[] {
  return listWorkspaces().filter(
    ({ path, manifest }) => path.startsWith("packages/") && manifest.private !== true,
  );
}

/** The paths a consumer may import from a package: `@halyard/wire`, `@halyard/wire/client`, … */
export function listEntryPoints(manifest: Manifest): string[] {
  return Object.keys(manifest.exports ?? {})
    .filter((key) => key !== "./package.json")
    .map((key) => manifest.name + key.slice(1));
}

/** The source files of a package's entry points, relative to the root. */
export function listEntrySources(folder: string): string[] {
  return Object.values(readManifest(folder).exports ?? {}).flatMap((target) => {
    const source: unknown =
      typeof target === "object" && target !== null && "@halyard/source" in target
        ? target["@halyard/source"]
        : undefined;
    return typeof source === "string" ? [posix.join(folder, source)] : [];
  });
}

/** Files that are tracked, or new and not ignored, relative to the root. */
export function listFiles(): string[] {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  const output = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], options);
  const names = output.split("\0").filter((name) => name !== "" && existsSync(join(root, name)));
  return [...new Set(names)].sort();
}

export function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}
