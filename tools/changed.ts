/** The files that the current change touches, for `npm run check -- --changed`. */

import { execFileSync } from "node:child_process";
import { root } from "./repository.ts";

/**
 * Files that differ from the merge base with origin/main, or from HEAD where that branch is unknown:
 * committed, uncommitted, untracked and deleted ones, relative to the root.
 */
export function listChangedFiles(folder: string = root): string[] {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const split = (output: string): string[] => output.split("\0").filter((name) => name !== "");
  const changed = split(git("diff", "--name-only", "--no-renames", "-z", findBase(git)));
  const untracked = split(git("ls-files", "-z", "--others", "--exclude-standard"));
  return [...new Set([...changed, ...untracked])].sort();
}

function findBase(git: (...args: readonly string[]) => string): string {
  try {
    return git("merge-base", "origin/main", "HEAD").trim();
  } catch {
    return "HEAD";
  }
}
