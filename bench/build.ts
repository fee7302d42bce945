/** Builds the packages, because the published `dist` is measured, not the sources. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export const root: string = dirname(import.meta.dirname);

/** Folder for reproducible files: programs and drafts of the page. */
export const cache: string = join(root, ".tmp", "bench");

export async function buildPackages(): Promise<void> {
  const compiler = join(root, "node_modules", ".bin", "tsc");
  try {
    await promisify(execFile)(compiler, ["-b", "--pretty", "false", "tsconfig.build.json"], { cwd: root });
  } catch (cause) {
    const output = cause instanceof Error && "stdout" in cause ? String(cause.stdout).trim() : String(cause);
    throw new Error(`The packages do not build. Fix the build before measuring:\n${output}`, { cause });
  }
}
