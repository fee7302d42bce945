/** A throw-away copy of the repository, to break on purpose. Installed packages are shared, workspaces are its own. */

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

export interface Copy {
  readonly folder: string;
  /** Runs a step of `npm run check` on the copy. */
  check(step: string): Promise<Finished>;
  /** Writes a file for as long as `action` runs, then puts back what was there. */
  withFile<T>(file: string, text: string, action: () => Promise<T>): Promise<T>;
  remove(): void;
}

export function createCopy(): Copy {
  // The real path, because compilers name files by it and system temp folders are often links.
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
    check: (step) => run(process.execPath, ["tools/check.ts", step], { cwd: folder }),
    async withFile(file, text, action) {
      const path = join(folder, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      try {
        return await action();
      } finally {
        rmSync(path);
        if (existsSync(join(root, file))) cpSync(join(root, file), path);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Links to every installed package but the workspaces, which would lead back into the original. */
function linkModules(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== "@halyard") symlinkSync(join(from, name), join(to, name));
  }
}
