/** A temporary copy of the repository, to break on purpose. It shares the installed packages, not the workspaces. */

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Finished, run } from "./process.ts";
import { listFiles, listWorkspaces, root } from "./repository.ts";

/** The whole check takes a minute, and on a busy machine several times that. */
export const CHECK_TIMEOUT_MS = 8 * 60_000;

export interface Copy {
  readonly folder: string;
  /** Runs steps of `npm run check` on the copy, or all of them. */
  check(...steps: readonly string[]): Promise<Finished>;
  /** Writes these files for as long as `action` runs, then restores the original ones. */
  withFiles<T>(files: Readonly<Record<string, string>>, action: () => Promise<T>): Promise<T>;
  remove(): void;
}

export function createCopy(): Copy {
  // The real path, because compilers print it and the system's temporary folder is often a link.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "halyard-copy-")));
  for (const file of listFiles()) cpSync(join(root, file), join(folder, file));
  for (const path of [".", ...listWorkspaces().map((workspace) => workspace.path)]) {
    linkModules(join(root, path, "node_modules"), join(folder, path, "node_modules"));
  }
  mkdirSync(join(folder, "node_modules", "@halyard"), { recursive: true });
  for (const { path, manifest } of listWorkspaces()) {
    symlinkSync(join(folder, path), join(folder, "node_modules", manifest.name));
  }
  execFileSync("git", ["init", "--quiet"], { cwd: folder });

  return {
    folder,
    check: (...steps) =>
      run(process.execPath, ["tools/check.ts", ...steps], { cwd: folder, timeoutMs: CHECK_TIMEOUT_MS }),
    async withFiles(files, action) {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), text);
      }
      try {
        return await action();
      } finally {
        for (const file of Object.keys(files)) {
          rmSync(join(folder, file));
          if (existsSync(join(root, file))) cpSync(join(root, file), join(folder, file));
        }
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Links to every installed package, but not to the workspaces and caches of the original. */
function linkModules(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== "@halyard" && name !== ".cache") symlinkSync(join(from, name), join(to, name));
  }
}
