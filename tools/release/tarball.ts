/** Packs a package as it would be published, and checks the files in the tarball. */

import { join } from "node:path";
import { run } from "../process.ts";
import { root, type Workspace } from "../repository.ts";

export interface Tarball {
  readonly path: string;
  /** Hash of the tarball, as lock files have it. */
  readonly integrity: string;
  readonly files: readonly string[];
  readonly bytes: number;
}

interface PackReport {
  readonly filename: string;
  readonly integrity: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

const REQUIRED = ["package.json", "README.md", "LICENSE"];
const ALLOWED = /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/.+|src\/.+)$/;
const FORBIDDEN = /\.test\.|\.bench\.|(?:^|\/)(?:test|tests|fixtures|__tests__)\/|\.tsbuildinfo$/;

export async function pack(workspace: Workspace, destination: string): Promise<Tarball> {
  const args = ["pack", "--json", "--loglevel=error", "--pack-destination", destination];
  const { ok, output, stdout } = await run("npm", args, { cwd: join(root, workspace.path) });
  if (!ok) throw new Error(`npm pack failed for ${workspace.manifest.name}:\n${output}`);
  const [report] = readReports(JSON.parse(stdout));
  if (report === undefined) throw new Error(`npm pack reported nothing for ${workspace.manifest.name}.`);
  return {
    path: join(destination, report.filename),
    integrity: report.integrity,
    files: report.files.map((file) => file.path),
    bytes: report.size,
  };
}

/** Files that should not be published, and files that should but are missing. */
export function findStrayFiles(files: readonly string[]): string[] {
  const missing = REQUIRED.filter((file) => !files.includes(file));
  const strays = files.filter((file) => !ALLOWED.test(file) || FORBIDDEN.test(file));
  // A bundler makes the files of an application from sources that are not published.
  const outputs = files.filter((file) => /^dist\/(?!app\/).+\.js$/.test(file));
  const stale = outputs.filter((file) => {
    const source = file.replace(/^dist\//, "src/").replace(/\.js$/, "");
    return !files.includes(`${source}.ts`) && !files.includes(`${source}.tsx`);
  });
  return [
    ...missing.map((file) => `${file} is missing from the tarball.`),
    ...strays.map(
      (file) => `${file} is in the tarball but should not be published; see "files" in package.json.`,
    ),
    ...stale.map((file) => `${file} has no source in src.`),
    ...(outputs.length === 0 ? ["dist holds no JavaScript: was it built?"] : []),
  ];
}

/** npm up to version 11 prints a list, later versions an object by package name. */
function readReports(json: unknown): PackReport[] {
  return Array.isArray(json) ? json : Object.values(json as Record<string, PackReport>);
}
